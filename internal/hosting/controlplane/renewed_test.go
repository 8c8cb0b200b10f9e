package controlplane

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// follows says how a credential is taken anew once it was renewed, which programs name it, and which are restarted for that.
type follows struct {
	how          string
	by, restarts []string
}

// followed has each credential of a control plane. That with which the store gate is the control plane to etcd stands in the gate's
// table, which the gate follows; kubelets renew their own; gateway, egress and the channels of machines have none.
var followed = map[string]follows{
	"apiserver":                {"they follow the files", []string{APIServer, ControllerManager, Scheduler}, nil},
	"apiserver-kubelet-client": {"it reads the files again for each connection", []string{APIServer}, nil},
	"front-proxy-client":       {"it reads the files again for each connection", []string{APIServer}, nil},
	"etcd-client":              {"it reads the files again for each connection", []string{APIServer}, nil},
	"controller-manager":       {"it is restarted with the kubeconfig that holds it", []string{ControllerManager}, []string{ControllerManager}},
	"scheduler":                {"it is restarted with the kubeconfig that holds it", []string{Scheduler}, []string{Scheduler}},
	"admin":                    {"KQueen's clients, and the cluster's kubeconfig, are made anew of the Secret", nil, nil},
}

// TestCredentialsOfATenant: the table above has every certificate of a control plane, and a renewed one reaches the programs that it
// says and restarts no other, the API server least of all. A new one that is not in it fails: say there how it is taken.
func TestCredentialsOfATenant(t *testing.T) {
	d := description(t)
	before, err := Describe(d)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]follows{}
	for file, data := range d.Keys {
		name, ok := strings.CutSuffix(file, ".crt")
		if !ok || signs(t, data) {
			continue
		}
		renewed := d
		renewed.Keys = maps.Clone(d.Keys)
		renewed.Keys[file] = append(slices.Clone(data), '\n') // the same certificate in other bytes
		after, err := Describe(renewed)
		if err != nil {
			t.Fatal(err)
		}
		f := follows{how: followed[name].how}
		f.by, f.restarts = reached(before, after)
		found[name] = f
	}
	if diff := cmp.Diff(followed, found, cmp.AllowUnexported(follows{})); diff != "" {
		t.Errorf("credentials of a control plane (-table +found):\n%s", diff)
	}
}

// reached are the components that name a file which has changed, and those that are restarted for it.
func reached(before, after runner.Workload) (by, restarts []string) {
	for _, c := range after.Components {
		for file, now := range after.Files {
			if bytes.Equal(before.Files[file].Data, now.Data) {
				continue
			}
			if names(c, file) && !slices.Contains(by, c.Name) {
				by = append(by, c.Name)
			}
			if slices.Contains(c.RestartOn, file) && !slices.Contains(restarts, c.Name) {
				restarts = append(restarts, c.Name)
			}
		}
	}
	return by, restarts
}

func names(c runner.Component, file string) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasSuffix(arg, "="+runner.FileRef(file)) })
}

// signs says whether a certificate is that of an authority.
func signs(t *testing.T, data []byte) bool {
	t.Helper()
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatal("there is no certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c.IsCA
}
