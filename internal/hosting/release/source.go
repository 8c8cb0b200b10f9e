package release

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// Components are the programs of a release. [Store.Ensure] provides those of a control plane, which is all that a
// first cluster waits for; [Store.EnsureNode] provides [NodeComponents] of a build. A download brings all at once.
var Components = slices.Concat(controlPlaneComponents, NodeComponents)

var controlPlaneComponents = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}

// NodeComponents are the programs of a release that run on nodes.
var NodeComponents = []string{"kube-proxy", "kubelet", "kubeadm"}

// Source is where the programs of a version come from. Exactly one of the two is set.
type Source struct {
	Build    *Build
	Download *Download
}

// Build compiles the programs from upstream's source with the Go toolchain in PATH.
type Build struct {
	// Module is the folder of a Go module such as kubernetes/v1.36 that requires
	// k8s.io/kubernetes at the wanted version and builds all programs into one file.
	Module string
}

// Download fetches the programs from a server with the layout of dl.k8s.io:
// <BaseURL>/<version>/bin/linux/<architecture>/<component>.
type Download struct {
	// BaseURL is the http or https address above the versions, such as
	// https://dl.k8s.io/release. Redirects to another scheme are not followed.
	BaseURL string
	// SHA256 pins the hash of each component in hex; every one of [Components] or none.
	// When empty, the <component>.sha256 file of the same server is used instead. That
	// finds damage in transit only: an attacker who can change the program there can change
	// its hash as well.
	SHA256 map[string]string
}

// Step is one thing that [Store.Ensure] does at the moment.
type Step struct {
	// Name says what, for the user to read: "build", "download kubelet".
	Name string
	// Elapsed is the time since this step began.
	Elapsed time.Duration
	// Done and Total count Unit ("packages" or "bytes"). Total is 0 when unknown. Done
	// may end below Total: packages that are in Go's build cache are never counted.
	Done, Total int64
	Unit        string
}

// Values of Origin.Kind.
const (
	originBuild    = "build"
	originDownload = "download"
)

// Origin is how the programs in a store were made.
type Origin struct {
	// Kind is "build" or "download".
	Kind string `json:"kind"`
	// From is the folder of the module, or the base URL without its password.
	From string `json:"from"`
	// Fingerprint changes when Ensure would make something else from this source.
	Fingerprint string `json:"fingerprint"`
}

// sameAs reports whether two origins give the same programs. Where they come from does
// not matter: a moved module builds the same.
func (o Origin) sameAs(other Origin) bool {
	return o.Kind == other.Kind && o.Fingerprint == other.Fingerprint
}

// check finds what can be known to be wrong without touching disk or network.
func (s Source) check() error {
	switch {
	case s.Build == nil && s.Download == nil:
		return errors.New("source is empty: set either build or download")
	case s.Build != nil && s.Download != nil:
		return errors.New("source has both build and download: set only one")
	case s.Build != nil && s.Build.Module == "":
		return errors.New("build.module is empty: name the folder of a Go module such as kubernetes/v1.36")
	case s.Build != nil:
		return nil
	}
	if _, err := s.Download.base(); err != nil {
		return err
	}
	return s.Download.checkPins()
}

func (d *Download) base() (*url.URL, error) {
	base, err := url.Parse(d.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("download.baseURL cannot be read (%w): write it like https://dl.k8s.io/release", err)
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("download.baseURL %q is not an http or https address: write it like https://dl.k8s.io/release", base.Redacted())
	case base.Host == "" || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("download.baseURL %q is not just a host and a path: write it like https://dl.k8s.io/release", base.Redacted())
	}
	return base, nil
}

func (d *Download) checkPins() error {
	if len(d.SHA256) == 0 {
		return nil
	}
	for _, component := range Components {
		pin, ok := d.SHA256[component]
		if !ok {
			return fmt.Errorf("download.sha256.%s is missing: pin every component or none", component)
		}
		if _, ok := parseSHA256(pin); !ok {
			return fmt.Errorf("download.sha256.%s is not a SHA-256 hash: write its 64 hex digits", component)
		}
	}
	for component := range d.SHA256 {
		if !slices.Contains(Components, component) {
			return fmt.Errorf("download.sha256.%s is not a component: leave it out", component)
		}
	}
	return nil
}

// parseSHA256 gives the hash in lower-case hex.
func parseSHA256(s string) (string, bool) {
	sum, err := hex.DecodeString(s)
	return hex.EncodeToString(sum), err == nil && len(sum) == sha256.Size
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
