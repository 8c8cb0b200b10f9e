package cis

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/platform/ciphers"
)

const noService = "there is no such file: the kubelet is a process that KQueen's supervisor starts, and the files that it gives it are closed to all others"

// NodeItems is section 4: about one node, whose files have the paths that the kubelet sees.
func NodeItems() []Item {
	config := "config"
	return []Item{
		{Number: "4.1.1", Title: "the kubelet's service file is closed to others", Reason: noService, Instead: everyClosed(".yaml")},
		{Number: "4.1.2", Title: "and belongs to root", Reason: noService, Instead: everyOurs(".yaml")},
		{Number: "4.1.3", Title: "kube-proxy's kubeconfig is closed to others", Holds: private(kubeProxy, "kubeconfig")},
		{Number: "4.1.4", Title: "and belongs to the node's root", Holds: owned(kubeProxy, "kubeconfig")},
		{Number: "4.1.5", Title: "the kubelet's kubeconfig is closed to others", Holds: private(kubelet, "kubeconfig")},
		{Number: "4.1.6", Title: "and belongs to the node's root", Holds: owned(kubelet, "kubeconfig")},
		{Number: "4.1.7", Title: "the authority of callers can be changed by no others", Holds: authority(func(f Found, file File) error {
			if file.Mode.Perm()&0o133 != 0 {
				return fmt.Errorf("it has the mode %s", file.Mode.Perm())
			}
			return nil
		})},
		{Number: "4.1.8", Title: "and belongs to the node's root", Holds: authority(func(f Found, file File) error { return f.ours("it", file) })},
		{Number: "4.1.9", Title: "the kubelet's configuration is closed to others", Holds: private(kubelet, config)},
		{Number: "4.1.10", Title: "and belongs to the node's root", Holds: owned(kubelet, config)},
		{Number: "4.2.1", Title: "callers without a name are refused", Holds: says(false, "authentication", "anonymous", "enabled")},
		{Number: "4.2.2", Title: "callers are authorized", Holds: says("Webhook", "authorization", "mode")},
		{Number: "4.2.3", Title: "an authority of callers", Holds: authority(func(Found, File) error { return nil })},
		{Number: "4.2.4", Title: "no port without credentials", Holds: saysNothingBut(0.0, "readOnlyPort")},
		{Number: "4.2.5", Title: "streams that are idle end", Holds: isNot("0s", "streamingConnectionIdleTimeout")},
		{Number: "4.2.6", Title: "the kubelet makes its chains in the packet filter", Holds: saysNothingBut(true, "makeIPTablesUtilChains")},
		{
			Number: "4.2.7", Title: "the node's name is that of the host", Holds: unset(kubelet, "hostname-override"), Instead: set(kubelet, "hostname-override"),
			Reason: "it is that of the Machine: KQueen approves a kubelet's certificate for this name and the machine's addresses alone, whatever a machine is called by itself",
		},
		{Number: "4.2.8", Title: "events are bounded", Holds: isNot(0.0, "eventRecordQPS")},
		{
			Number: "4.2.9", Title: "files with a serving certificate", Holds: settings("tlsCertFile", "tlsPrivateKeyFile"), Instead: says(true, "serverTLSBootstrap"),
			Reason: "the kubelet asks the cluster for one and renews it; KQueen compares the request with the Machine and approves it",
		},
		{Number: "4.2.10", Title: "client certificates are renewed", Holds: says(true, "rotateCertificates")},
		{Number: "4.2.11", Title: "serving certificates are renewed", Holds: isNot(false, "featureGates", "RotateKubeletServerCertificate")},
		{Number: "4.2.12", Title: "strong cipher suites alone", Holds: strongNode},
		{Number: "4.2.13", Title: "a bound on the processes of a pod", Holds: settings("podPidsLimit")},
		{Number: "4.2.14", Title: "pods have a seccomp profile", Holds: says(true, "seccompDefault")},
		{Number: "4.3.1", Title: "kube-proxy tells its metrics to the node alone", Holds: func(f Found) error {
			if value, there := f.value(kubeProxy, "metrics-bind-address"); there && !strings.HasPrefix(value, "127.0.0.1:") {
				return fmt.Errorf("%s has --metrics-bind-address=%s", kubeProxy, value)
			}
			return nil
		}},
	}
}

// setting is what the kubelet's configuration says below names; nil where it says nothing.
func (f Found) setting(names ...string) (any, error) {
	file, err := f.file(kubelet, "config")
	if err != nil {
		return nil, err
	}
	var at any
	if err := yaml.Unmarshal(file.Data, &at); err != nil {
		return nil, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	for _, name := range names {
		below, _ := at.(map[string]any)
		at = below[name]
	}
	return at, nil
}

// judge has a setting judged.
func judge(good func(any) bool, names []string) check {
	return func(f Found) error {
		value, err := f.setting(names...)
		if err != nil {
			return err
		}
		if !good(value) {
			return fmt.Errorf("the kubelet's configuration has %v as %s", value, strings.Join(names, "."))
		}
		return nil
	}
}

func says(want any, names ...string) check {
	return judge(func(v any) bool { return v == want }, names)
}

// saysNothingBut is for what upstream does by itself.
func saysNothingBut(want any, names ...string) check {
	return judge(func(v any) bool { return v == nil || v == want }, names)
}

func isNot(bad any, names ...string) check {
	return judge(func(v any) bool { return v != bad }, names)
}

// settings wants each of them to be there.
func settings(names ...string) check {
	var checks []check
	for _, name := range names {
		checks = append(checks, isNot(nil, name))
	}
	return all(checks...)
}

// authority has the file judged by which the kubelet knows its callers.
func authority(good func(Found, File) error) check {
	return func(f Found) error {
		value, err := f.setting("authentication", "x509", "clientCAFile")
		if err != nil {
			return err
		}
		path, _ := value.(string)
		file, there := f.Files[filepath.Clean(path)]
		if !there {
			return fmt.Errorf("the authority %q is not among the files that were looked at", path)
		}
		if err := good(f, file); err != nil {
			return fmt.Errorf("the authority %s: %w", path, err)
		}
		return nil
	}
}

func strongNode(f Found) error {
	value, err := f.setting("tlsCipherSuites")
	if err != nil {
		return err
	}
	suites, _ := value.([]any)
	if len(suites) == 0 {
		return errors.New("the kubelet's configuration names no cipher suites")
	}
	for _, s := range suites {
		if name, _ := s.(string); !slices.Contains(ciphers.Names(), name) {
			return fmt.Errorf("the kubelet's configuration has the cipher suite %v", s)
		}
	}
	return nil
}
