package storegate

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// frame is a message that is passed on as it came, without being decoded: what etcd answers to reads and watches is large,
// and none of the gate's business.
type frame struct{ data mem.BufferSlice }

// codec decodes what the gate has to judge, and leaves frames as they are. Fields that this program does not know are
// dropped: what is passed on is what was judged, and nothing beside it.
type codec struct{}

// raw has a call of etcd answered through the codec.
func raw() grpc.CallOption { return grpc.ForceCodecV2(codec{}) }

// Name is that of protocol buffers, which is what goes over the wire.
func (codec) Name() string { return "proto" }

// Marshal encodes a message, or gives away a frame, once.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *frame:
		data := m.data
		m.data = nil
		return data, nil
	case proto.Message:
		data, err := proto.Marshal(m)
		if err != nil {
			return nil, err
		}
		return mem.BufferSlice{mem.SliceBuffer(data)}, nil
	}
	return nil, fmt.Errorf("encode %T: is no message", v)
}

// Unmarshal decodes a message, or keeps it as a frame.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *frame:
		data.Ref()
		m.data = data
		return nil
	case proto.Message:
		buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer buffer.Free()
		return proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(buffer.ReadOnlyData(), m)
	}
	return fmt.Errorf("decode %T: is no message", v)
}
