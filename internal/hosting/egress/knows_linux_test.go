package egress

import (
	"context"
	"errors"
	"net/netip"
	"testing"
)

// TestAskKnows: a machine says whether its kubelet knows its pods, one whose kubelet hangs says that it does not, and that one cannot be asked,
// such as of an older KQueen, is told apart.
func TestAskKnows(t *testing.T) {
	const knows, notYet, unknown = "knows", "not yet", "cannot be asked"
	for name, c := range map[string]struct {
		serve func(h *host, dir string)
		want  string
	}{
		"Knows":  {serveKnows(func(context.Context) error { return nil }), knows},
		"NotYet": {serveKnows(func(context.Context) error { return errors.New("it has had pods and knows of none") }), notYet},
		"Hangs": {serveKnows(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}), notYet},
		"Older": {serveKnows(nil), unknown},
		"Gone":  {nil, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			dir := h.mark("machine-a", Mark{Cluster: "a", Machine: kubeletOfA.target.Addr()})
			if c.serve != nil {
				c.serve(h, dir)
			}
			got := unknown
			switch err := askKnows(t.Context(), dir); {
			case err == nil:
				got = knows
			case errors.Is(err, errNotYet):
				got = notYet
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func serveKnows(knows Knows) func(*host, string) {
	return func(h *host, dir string) {
		l, err := Listen(dir)
		if err != nil {
			h.t.Fatal(err)
		}
		run(h.t, func(ctx context.Context) error { return ServeExit(ctx, l, echo("pod of a"), knows) })
	}
}

// TestExitAt: a kubelet is asked for at its own machine, of its own cluster.
func TestExitAt(t *testing.T) {
	s := &Server{Dir: "/d", marks: map[string]known{
		"entry":     {Mark: Mark{Cluster: "a"}},
		"machine-a": {Mark: Mark{Cluster: "a", Machine: kubeletOfA.target.Addr()}},
		"machine-b": {Mark: Mark{Cluster: "b", Machine: netip.MustParseAddr("240.0.0.2")}},
	}}
	for want, k := range map[string]kubelet{
		"/d/machine-a": kubeletOfA,
		"/d/machine-b": {"b", netip.MustParseAddrPort("240.0.0.2:10250")},
		"":             {"a", netip.MustParseAddrPort("240.0.0.2:10250")},
	} {
		if got := s.exitAt(k); got != want {
			t.Errorf("%v is asked at %q, want %q", k, got, want)
		}
	}
}
