package stored

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// Object is one of a type of Kubernetes itself, which API servers store as protobuf.
type Object interface {
	Unmarshal(data []byte) error
	Marshal() ([]byte, error)
}

// errOther says that a value is not stored as Kubernetes stores its own kinds.
var errOther = errors.New("it is not stored as Kubernetes stores this kind")

// Decode reads a stored value, which is not encrypted, into an object of its type.
func Decode(value []byte, o Object) error {
	u, err := unwrap(value)
	if err != nil {
		return err
	}
	if err := o.Unmarshal(u.Raw); err != nil {
		return fmt.Errorf("read what is stored: %w", err)
	}
	return nil
}

// Encode returns the value with an object in the place of the one that it has, of the same kind and version.
func Encode(value []byte, o Object) ([]byte, error) {
	u, err := unwrap(value)
	if err != nil {
		return nil, err
	}
	if u.Raw, err = o.Marshal(); err != nil {
		return nil, fmt.Errorf("write what is to be stored: %w", err)
	}
	wrapped, err := u.Marshal()
	if err != nil {
		return nil, fmt.Errorf("write what is to be stored: %w", err)
	}
	return append(bytes.Clone(protobufPrefix), wrapped...), nil
}

func unwrap(value []byte) (*runtime.Unknown, error) {
	wrapped, is := bytes.CutPrefix(value, protobufPrefix)
	if !is {
		return nil, errOther
	}
	u := &runtime.Unknown{}
	if err := u.Unmarshal(wrapped); err != nil {
		return nil, fmt.Errorf("read what is stored: %w", err)
	}
	return u, nil
}
