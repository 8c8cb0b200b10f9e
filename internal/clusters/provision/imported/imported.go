//go:build linux

// Package imported is the driver of clusters that KQueen has adopted: they exist, others run them, and a user has set a kubeconfig
// for each, or started an agent in it. It looks at a cluster and changes nothing in it; deleting one lets go of it.
//
// It hides what an API server is asked, and what its answers mean. Package all lists it; nothing else imports it.
package imported

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/text"
)

const noParameters = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false
}`

// Config is what the driver is made of.
type Config struct {
	// Guard dials the clusters, and Agents reach those that have one.
	Guard  *connection.Guard
	Agents connection.Agents
	// Version of the calling program, for the user agent.
	Version string
}

// Driver is the driver.
type Driver struct{ Config }

var (
	_ provision.Driver            = (*Driver)(nil)
	_ provision.CredentialChecker = (*Driver)(nil)
)

// New returns the driver.
func New(c Config) *Driver { return &Driver{c} }

// Describe says what the driver is.
func (d *Driver) Describe() provision.Description {
	return provision.Description{
		Name:              "imported",
		Summary:           "Clusters that exist and that others run, adopted by their kubeconfigs or by agents in them.",
		ProvisionerSchema: json.RawMessage(noParameters),
		ClusterSchema:     json.RawMessage(noParameters),
		ClusterCredentials: []provision.Credential{{
			Key: v1alpha1.CredentialKubeconfig, Description: "The kubeconfig by which KQueen reaches the cluster.", Unless: v1alpha1.CredentialAgent,
		}},
	}
}

// Check refuses what can only be said of a cluster that KQueen creates.
func (d *Driver) Check(_ context.Context, _ *provision.Desired, want provision.Desired) error {
	if want.Version != "" {
		return invalid.New("spec.version", "an adopted cluster has the version that it has; leave it out")
	}
	return nil
}

// Ensure changes nothing: the cluster is there.
func (d *Driver) Ensure(ctx context.Context, want provision.Desired) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.Check(ctx, nil, want)
}

// Delete lets go of the cluster, which stays as it is.
func (d *Driver) Delete(ctx context.Context, _ provision.Target) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return true, nil
}

// Observe asks the API server for its version and whether it is ready.
func (d *Driver) Observe(ctx context.Context, of provision.Target) (provision.Observed, error) {
	means, err := connection.MeansOf(of.ClusterCredentials)
	switch {
	case err != nil:
		return provision.Observed{}, fmt.Errorf("%w; enroll the agent again: kqueen cluster import %s --agent", err, of.Name)
	case means.Agent != nil:
		return d.observeByAgent(ctx, of)
	case means.Kubeconfig == nil && len(of.ClusterCredentials[v1alpha1.CredentialAgent]) > 0:
		return provision.Observed{}, &agentError{provision.ErrPending, fmt.Sprintf(
			"no agent has enrolled yet; apply in the cluster what this prints: kqueen cluster import %s --agent", of.Name)}
	}
	kubeconfig, err := read(of)
	if err != nil {
		return provision.Observed{}, err
	}
	answers, err := d.ask(ctx, kubeconfig)
	if err != nil {
		return provision.Observed{}, err
	}
	return observed(answers, kubeconfig.Server())
}

// observed reads the answers to /version and /readyz. It is pure.
func observed(answers []connection.Answer, endpoint string) (provision.Observed, error) {
	version, err := versionOf(answers[0])
	if err != nil {
		return provision.Observed{}, err
	}
	o := judge(answers[1])
	o.Version, o.Endpoint = version, endpoint
	return o, nil
}

// CheckCredentials implements [provision.CredentialChecker].
func (d *Driver) CheckCredentials(ctx context.Context, of provision.Target) (provision.Credentials, error) {
	kubeconfig, err := read(of)
	if err != nil {
		return nil, err
	}
	for key := range of.ClusterCredentials {
		if key != v1alpha1.CredentialKubeconfig {
			return nil, invalid.Want(key, "is not a credential of an adopted cluster", v1alpha1.CredentialKubeconfig)
		}
	}
	encoded, err := kubeconfig.Encode()
	if err != nil {
		return nil, errors.New("write the kubeconfig: it cannot be encoded") // the encoder's words could quote it
	}
	kept := provision.Credentials{v1alpha1.CredentialKubeconfig: encoded}
	answers, err := d.ask(ctx, kubeconfig)
	if err == nil {
		_, err = versionOf(answers[0])
	}
	return kept, err
}

func read(of provision.Target) (*connection.Kubeconfig, error) {
	kubeconfig, err := connection.Parse(of.ClusterCredentials[v1alpha1.CredentialKubeconfig])
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		field := v1alpha1.CredentialKubeconfig
		if bad.Field != "" {
			field += "." + bad.Field
		}
		return nil, &invalid.Error{Field: field, Problem: bad.Problem, Want: bad.Want}
	}
	return kubeconfig, err
}

func asked() []string { return []string{"/version", "/readyz"} }

// ask returns the answers to what is asked.
func (d *Driver) ask(ctx context.Context, kubeconfig *connection.Kubeconfig) ([]connection.Answer, error) {
	answers, err := d.Guard.Ask(ctx, kubeconfig, d.Version, asked()...)
	if err != nil {
		return nil, unreached(err)
	}
	return answers, nil
}

// unreachableError is provision.ErrUnreachable in words about a cluster.
type unreachableError struct{ why string }

func (e *unreachableError) Error() string   { return "the cluster cannot be reached: " + e.why }
func (*unreachableError) Is(err error) bool { return err == provision.ErrUnreachable }

func unreachable(format string, args ...any) error {
	return &unreachableError{text.Cut(text.Line(fmt.Sprintf(format, args...)), mostSaid)}
}

// mostSaid is how much of a text of which a part is foreign goes into a message.
const mostSaid = 400

// unreached says why an API server was not reached, in words that help. It is pure.
func unreached(err error) error {
	if refused, ok := errors.AsType[*connection.RefusedError](err); ok {
		return unreachable("%v", refused)
	}
	if errors.Is(err, connection.ErrRedirected) {
		return unreachable("%v", connection.ErrRedirected)
	}
	if wrong, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return unreachable("its certificate is not trusted: %v; set a kubeconfig with the right server and certificate-authority-data", wrong.Err)
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return unreachable("its name %s cannot be resolved from KQueen's host", lookup.Name)
	}
	return unreachable("%v", err)
}

// versionOf reads the version of the answer to /version. It is pure.
func versionOf(a connection.Answer) (string, error) {
	switch a.Status {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return "", fmt.Errorf("%w: they may have expired; set a kubeconfig with a new token or certificate", provision.ErrCredentials)
	case http.StatusForbidden:
		return "", fmt.Errorf("%w: their user may not read /version; bind the ClusterRole system:discovery to it", provision.ErrCredentials)
	default:
		return "", unreachable("the server answers /version with the status %d", a.Status)
	}
	var said struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(a.Body, &said); err != nil || said.GitVersion == "" || len(said.GitVersion) > 64 || !printable(said.GitVersion) {
		return "", unreachable("what answers /version is not a Kubernetes API server")
	}
	return said.GitVersion, nil
}

// printable says whether a version has the characters of one alone: a cluster says what it likes.
func printable(version string) bool {
	for _, r := range version {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' && r != '_' {
			return false
		}
	}
	return true
}

// judge says what the answer to /readyz means. One that is not told counts as ready: /version was answered. It is pure.
func judge(a connection.Answer) provision.Observed {
	o := provision.Observed{State: provision.Healthy}
	step := v1alpha1.Step{Name: "API server answers", Done: true}
	if a.Status >= http.StatusInternalServerError {
		o.State, o.Message = provision.Degraded, fmt.Sprintf("the API server says with the status %d that it is not ready", a.Status)
		step.Done, step.Message = false, o.Message
	}
	o.Steps = []v1alpha1.Step{step}
	return o
}
