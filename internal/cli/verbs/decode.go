package verbs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// readObjects decodes every object of a file, or of standard input when the path is "-". All have to be of
// the kind.
func readObjects(e *connection.Env, n *kinds.Kind, path string) ([]client.Object, error) {
	if path == "-" {
		return decodeObjects(n, "standard input", e.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", n.Plural, err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	return decodeObjects(n, path, file)
}

// decodeObjects decodes YAML or JSON documents that are each one of the kind, or a List of them as `KIND list
// -o yaml` prints it. It is strict: a field that the kind does not have is an error that names the file, the
// document, counted from 1, and the field.
func decodeObjects(n *kinds.Kind, name string, from io.Reader) ([]client.Object, error) {
	var objects []client.Object
	err := eachObject(name, from, func(data []byte, kind metav1.TypeMeta) error {
		object, err := decodeObject(n, data, kind)
		objects = append(objects, object)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s holds no %s", name, n.Singular)
	}
	return objects, nil
}

// eachObject hands on each object of YAML or JSON documents, and each of those that a List holds. Errors name the file and
// the document, counted from 1.
func eachObject(name string, from io.Reader, decode func(data []byte, kind metav1.TypeMeta) error) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(from))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err := decodeDocument(document, decode); err != nil {
			return fmt.Errorf("%s, document %d: %w", name, number, err)
		}
	}
}

// listDocument is a List whose items are not decoded yet.
type listDocument struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta        `json:"metadata"`
	Items           []runtime.RawExtension `json:"items"`
}

// decodeDocument hands on what one YAML document holds. One that is empty or only comments holds nothing.
func decodeDocument(document []byte, decode func(data []byte, kind metav1.TypeMeta) error) error {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	if string(data) == "null" {
		return nil
	}
	var kind metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &kind); err != nil {
		return typeProblem(err)
	}
	if kind.APIVersion != "v1" || kind.Kind != "List" {
		return decode(data, kind)
	}
	var list listDocument
	if err := decodeStrict(data, &list); err != nil {
		return err
	}
	for i, item := range list.Items {
		var kind metav1.TypeMeta
		if err := kjson.UnmarshalCaseSensitivePreserveInts(item.Raw, &kind); err != nil {
			return fmt.Errorf("items[%d]: %w", i, typeProblem(err))
		}
		if err := decode(item.Raw, kind); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return nil
}

// decodeObject decodes one object and forgets what only the server that it was read from knows, but for the revision.
func decodeObject(n *kinds.Kind, data []byte, kind metav1.TypeMeta) (client.Object, error) {
	if want := v1alpha1.GroupVersion.String(); kind.APIVersion != want {
		return nil, fmt.Errorf("apiVersion: is %q and has to be %q", kind.APIVersion, want)
	}
	if kind.Kind != n.Kind {
		return nil, fmt.Errorf("kind: is %q and has to be %q", kind.Kind, n.Kind)
	}
	object := blank(n)
	if err := decodeStrict(data, object); err != nil {
		return nil, err
	}
	object.SetUID("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	object.SetManagedFields(nil)
	forgetStatus(object)
	return object, nil
}

// forgetStatus takes away what the server alone says.
func forgetStatus(object client.Object) {
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		o.Status = v1alpha1.ClusterStatus{}
	case *v1alpha1.NodePool:
		o.Status = v1alpha1.NodePoolStatus{}
	case *v1alpha1.Machine:
		o.Status = v1alpha1.MachineStatus{}
	case *v1alpha1.Organization:
		o.Status = v1alpha1.OrganizationStatus{}
	case *v1alpha1.Provisioner:
		o.Status = v1alpha1.ProvisionerStatus{}
	case *v1alpha1.BackupStore:
		o.Status = v1alpha1.BackupStoreStatus{}
	case *v1alpha1.Backup:
		o.Status = v1alpha1.BackupStatus{}
	case *v1alpha1.BackupSchedule:
		o.Status = v1alpha1.BackupScheduleStatus{}
	case *v1alpha1.Restore:
		o.Status = v1alpha1.RestoreStatus{}
	case *v1alpha1.Rotation:
		o.Status = v1alpha1.RotationStatus{}
	case *v1alpha1.Rehearsal:
		o.Status = v1alpha1.RehearsalStatus{}
	case *v1alpha1.Upgrade:
		o.Status = v1alpha1.UpgradeStatus{}
	}
}

// blank returns what a document of the kind is decoded into: what it leaves open stays as it is there.
func blank(n *kinds.Kind) client.Object {
	if n == kinds.NodePool {
		return kinds.NewNodePool()
	}
	return n.Object()
}

// decodeStrict decodes JSON; every field has to be known, and has to be there once.
func decodeStrict(data []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return typeProblem(err)
	}
	return errors.Join(strict...)
}

// typeProblem says in the words of YAML what is of the wrong type: a field, or all of a document.
func typeProblem(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("has to be an object with apiVersion, kind, metadata and spec, and is %s", inWords(wrong.Value))
	}
	return fmt.Errorf("%s: has to be %s and is %s", wrong.Field, inWords(wrong.Type.Kind().String()), inWords(wrong.Value))
}

// inWords says what users call what Go or JSON calls so.
func inWords(kind string) string {
	switch {
	case kind == "slice", kind == "array":
		return "a list"
	case kind == "struct", kind == "map", kind == "object":
		return "an object"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	}
	return "a " + kind
}
