//go:build linux

package local

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/cis"
	"kqueen.io/kqueen/internal/workers/node"
)

// foundOnNode is what a machine would run for a description. Its kubeconfig is written by the kubelet itself.
func foundOnNode(t *testing.T, d description) cis.Found {
	t.Helper()
	w, err := describe(d)
	if err != nil {
		t.Fatal(err)
	}
	f := cis.Found{Programs: map[string]cis.Program{}, Files: map[string]cis.File{node.KubeletKubeconfig: {Mode: 0o600}}}
	for _, c := range w.Components {
		f.Programs[c.Name] = cis.Program{Args: c.Args}
	}
	for name, file := range w.Files {
		if inside, shown := strings.CutPrefix(name, confDir+"/"); shown {
			mode := file.Mode
			if mode == 0 {
				mode = 0o600
			}
			f.Files[filepath.Join(insideConf, inside)] = cis.File{Mode: mode, Data: file.Data}
		}
	}
	return f
}

// TestBenchmark holds what is described for a machine against section 4 of the CIS Kubernetes Benchmark, and has the table
// find what is not as it asks for. An end-to-end test does so with what runs.
func TestBenchmark(t *testing.T) {
	for _, r := range cis.CheckNode(foundOnNode(t, exampleDescription())) {
		if r.Problem != nil {
			t.Errorf("%s (%s): %v", r.Number, r.Title, r.Problem)
		}
	}
	for number, change := range map[string][2]string{
		"4.2.1": {"enabled: false", "enabled: true"}, "4.2.2": {"mode: Webhook", "mode: AlwaysAllow"}, "4.2.3": {"clientCAFile", "x"},
		"4.2.4": {"cgroupRoot", "readOnlyPort: 10255\ncgroupRoot"}, "4.2.5": {"cgroupRoot", "streamingConnectionIdleTimeout: 0s\ncgroupRoot"},
		"4.2.6": {"cgroupRoot", "makeIPTablesUtilChains: false\ncgroupRoot"}, "4.2.8": {"cgroupRoot", "eventRecordQPS: 0\ncgroupRoot"},
		"4.2.9": {"serverTLSBootstrap: true", ""}, "4.2.10": {"rotateCertificates: true", ""}, "4.2.12": {"tlsCipherSuites:", "tlsCipherSuites:\n- TLS_RSA_WITH_AES_128_CBC_SHA"},
		"4.2.13": {"podPidsLimit", "x"}, "4.2.14": {"seccompDefault: true", ""},
	} {
		f := foundOnNode(t, exampleDescription())
		file := f.Files[insidePath(node.FileKubelet)]
		file.Data = []byte(strings.Replace(string(file.Data), change[0], change[1], 1))
		f.Files[insidePath(node.FileKubelet)] = file
		if !slices.ContainsFunc(cis.CheckNode(f), func(r cis.Result) bool { return r.Number == number && r.Problem != nil }) {
			t.Errorf("%s: nothing is said of %q", number, change[1])
		}
	}
}
