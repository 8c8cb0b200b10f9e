package join

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandboxes are pods in a container runtime. Of the calls that it takes, those that are in refused fail.
type sandboxes struct {
	criv1.RuntimeServiceClient

	names   []string
	refused string
	calls   []string
}

func (s *sandboxes) note(call string) error {
	s.calls = append(s.calls, call)
	if call == s.refused {
		return errors.New("device is busy")
	}
	return nil
}

func (s *sandboxes) ListPodSandbox(context.Context, *criv1.ListPodSandboxRequest, ...grpc.CallOption) (*criv1.ListPodSandboxResponse, error) {
	list := &criv1.ListPodSandboxResponse{}
	for _, name := range s.names {
		list.Items = append(list.Items, &criv1.PodSandbox{Id: "id-" + name, Metadata: &criv1.PodSandboxMetadata{Name: name}})
	}
	return list, s.note("list")
}

func (s *sandboxes) StopPodSandbox(_ context.Context, r *criv1.StopPodSandboxRequest, _ ...grpc.CallOption) (*criv1.StopPodSandboxResponse, error) {
	return nil, s.note("stop " + r.PodSandboxId)
}

func (s *sandboxes) RemovePodSandbox(_ context.Context, r *criv1.RemovePodSandboxRequest, _ ...grpc.CallOption) (*criv1.RemovePodSandboxResponse, error) {
	return nil, s.note("remove " + r.PodSandboxId)
}

// TestRemovePods: a pod that cannot be stopped is named, and keeps no other from being taken away.
func TestRemovePods(t *testing.T) {
	for name, c := range map[string]struct {
		refused string
		calls   []string
		want    string
	}{
		"all go":               {"", []string{"list", "stop id-a", "remove id-a", "stop id-b", "remove id-b"}, ""},
		"one cannot stop":      {"stop id-a", []string{"list", "stop id-a", "stop id-b", "remove id-b"}, "stop pod a: device is busy"},
		"one cannot go":        {"remove id-a", []string{"list", "stop id-a", "remove id-a", "stop id-b", "remove id-b"}, "stop pod a: device is busy"},
		"containerd says none": {"list", []string{"list"}, "list pods: device is busy"},
	} {
		s := &sandboxes{names: []string{"a", "b"}, refused: c.refused}
		said := ""
		if err := removePods(t.Context(), s); err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff(c.calls, s.calls); diff != "" || said != c.want {
			t.Errorf("%s: got %q, want %q; calls (-want +got):\n%s", name, said, c.want, diff)
		}
	}
}

// TestStopPodsWithoutContainerd: where containerd has never run there are no pods, and where it has ended nothing is
// taken to be stopped.
func TestStopPodsWithoutContainerd(t *testing.T) {
	dir := t.TempDir()
	if err := stopPods(t.Context(), filepath.Join(dir, "missing.sock")); err != nil {
		t.Errorf("no socket: %v", err)
	}
	if err := stopPods(t.Context(), dir); err == nil || !strings.HasPrefix(err.Error(), "list pods: ") {
		t.Errorf("a socket at which nothing answers: %v", err)
	}
}
