package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	cases := map[string]struct{ args, want []string }{
		"none":            {nil, []string{}},
		"plain":           {[]string{"/usr/bin/kqueen", "cluster", "list"}, []string{"cluster", "list"}},
		"under etcd":      {[]string{"/var/lib/kqueen/bin/etcd", "--name", "a"}, []string{"etcd", "--name", "a"}},
		"only looks like": {[]string{"/opt/etcd/kqueen", "version"}, []string{"version"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, arguments(c.args)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
