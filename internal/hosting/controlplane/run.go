package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// componentsCheck is the longest time between two looks at components of which the runner says nothing.
	componentsCheck = 30 * time.Second
)

// ensureComponents hands the description to the runner and says what the components do.
func (r *reconciler) ensureComponents(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	if refused := r.refuse(cp); refused != nil {
		return *refused
	}
	description, err := r.describe(ctx, cp)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonComponentsFailing, err)
	}
	workload, err := Describe(description)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonComponentsFailing, err)
	}
	stopped, asleep, reads := cp.Spec.StoppedFor, cp.Spec.Asleep, readsOn(cp)
	switch {
	case reads:
		workload.Components = slices.DeleteFunc(workload.Components, func(c runner.Component) bool { return c.Name != APIServer })
	case stopped != "" || asleep:
		workload.Components = nil // ports and files stay
	default:
		if refused := leavePort(cp, r.Releases); refused != nil {
			return *refused
		}
	}
	if err := r.Runner.Apply(ctx, workload); err != nil {
		return operator.Retry(v1alpha1.ReasonComponentsFailing, fmt.Errorf("start components: %w", err))
	}
	status, err := r.Runner.Status(ctx, workload.ID)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonComponentsFailing, fmt.Errorf("look at components: %w", err))
	}
	cp.Status.Components, cp.Status.Confinement = componentsOf(status), status.Confinement
	if stopped != "" {
		return standStill(cp, status, reads)
	}
	cp.Status.StoppedFor = ""
	if asleep {
		return sleeping(cp, len(status.Components))
	}
	awake(cp, status)
	if step := advance(cp, description.ManagerVersion, status); step != nil {
		return *step
	}
	if step := rotate(ctx, r, cp, status); step != nil {
		return *step
	}
	return judge(status)
}

// readsOn says whether the API server goes on, for reads alone, while the other components stand still: where it is the one that is wanted.
// One that has to be started or replaced for that would write before it answers. It is pure.
func readsOn(cp *v1alpha1.ControlPlane) bool {
	current := cp.Spec.Version == cp.Status.APIServerVersion && cp.Spec.Emulates() == cp.Status.EmulatedVersion
	return cp.Spec.IsReadOnly() && current && !cp.Spec.Asleep && !cp.Status.Asleep
}

// standStill says in the status that nothing writes any more, once that is so. Whether an API server that reads on may write was decided
// with the keyspace, before.
func standStill(cp *v1alpha1.ControlPlane, status health.Status, reads bool) operator.Outcome {
	remaining := slices.ContainsFunc(status.Components, func(c health.Component) bool { return !reads || c.Name != APIServer })
	if remaining {
		cp.Status.StoppedFor = ""
		return operator.Wait(v1alpha1.ReasonComponentsStopped, "the components are being stopped", time.Second)
	}
	cp.Status.StoppedFor = cp.Spec.StoppedFor
	what := "the components stand still for a restore; see: kqueen restore list"
	switch {
	case cp.IsCopy():
		what = "nothing runs until all is copied"
	case reads:
		what = "the API server answers reads alone, and the other components stand still, for a restore; see: kqueen restore list"
	}
	return operator.Wait(v1alpha1.ReasonComponentsStopped, what, componentsCheck)
}

// refuse says why the wanted version cannot be run, or nil.
func (r *reconciler) refuse(cp *v1alpha1.ControlPlane) *operator.Outcome {
	refuse := func(o operator.Outcome) *operator.Outcome { return &o }
	version, err := release.ParseVersion(cp.Spec.Version)
	if err != nil {
		return refuse(operator.Stalled(v1alpha1.ReasonVersionRefused, "spec.version: %v", err))
	}
	for field, text := range map[string]string{"status.version": cp.Status.Version, "status.apiServerVersion": cp.Status.APIServerVersion} {
		if text == "" {
			continue
		}
		running, err := release.ParseVersion(text)
		if err != nil {
			return refuse(operator.Stalled(v1alpha1.ReasonVersionRefused, "%s: %v", field, err))
		}
		var skew *release.SkewError
		if err := mayRun(running, version, cp.Status.EmulatedVersion); errors.As(err, &skew) {
			return refuse(operator.Stalled(v1alpha1.ReasonVersionRefused, "spec.version: %v", skew))
		}
	}
	if err := release.CheckEmulation(version, cp.Spec.EmulatedVersion); err != nil {
		return refuse(operator.Stalled(v1alpha1.ReasonVersionRefused, "spec.%v", err))
	}
	_, ok, err := r.Releases.Lookup(version)
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonVersionRefused, err))
	}
	if !ok {
		return refuse(operator.Wait(v1alpha1.ReasonVersionRefused, "spec.version: the programs of "+cp.Spec.Version+" are not on this machine; see: kqueen release list", componentsCheck))
	}
	return nil
}

// describe gathers what the components depend on.
func (r *reconciler) describe(ctx context.Context, cp *v1alpha1.ControlPlane) (Description, error) {
	store, keyspace, err := r.keyspace(ctx, cp)
	if err != nil {
		return Description{}, err
	}
	access, err := r.storeAccess(ctx, store, keyspace)
	if err != nil {
		return Description{}, err
	}
	secret, err := r.keys(ctx, cp)
	if err != nil {
		return Description{}, err
	}
	kubelets, err := r.kubelets(ctx, cp)
	if err != nil {
		return Description{}, err
	}
	allowed, err := r.allowed(ctx, cp)
	if err != nil {
		return Description{}, err
	}
	keys, encryption := splitKeys(secret.Data)
	d := Description{
		ID:               string(cp.UID),
		Name:             cp.Namespace + "/" + cp.Name,
		ClusterName:      clusterNameOf(cp),
		Cluster:          clusterOf(cp),
		Kubelets:         kubelets,
		Allowed:          allowed,
		Closed:           r.EgressClosed,
		Network:          cp.Spec.Network,
		ServerName:       serverName(cp, r.Domain),
		AdvertiseAddress: r.AdvertiseAddress,
		Keys:             keys,
		NextSigns:        cp.Spec.Rotation != nil && signsNext(cp.Spec.Rotation.Step),
		EncryptionKeys:   encryption.inOrder(cp.Spec.RotationStep(v1alpha1.CredentialEncryptionKey)),
		Store:            access,
		Issuer:           issuerFor(r.Config, cp),
		Size:             cp.Spec.Size,
		PodSecurity:      cp.Spec.PodSecurity,
		Version:          cp.Spec.Version,
		EmulatedVersion:  cp.Spec.Emulates(),
		ManagerVersion:   managerVersion(cp),
		ClusterAudit:     cp.Spec.AuditLog,
	}
	if cp.IsCopy() {
		d = d.detached()
	}
	return d, nil
}

// clusterOf returns the UID of the Cluster that a control plane was made for, or its own where it was made for none.
func clusterOf(cp *v1alpha1.ControlPlane) string {
	owner := metav1.GetControllerOf(cp)
	if owner == nil || owner.Kind != "Cluster" {
		return string(cp.UID)
	}
	return string(owner.UID)
}

// clusterNameOf is ORGANIZATION/NAME of the Cluster that a control plane was made for, with its own name where it was made for none.
func clusterNameOf(cp *v1alpha1.ControlPlane) string {
	name := cp.Name
	if owner := metav1.GetControllerOf(cp); owner != nil && owner.Kind == "Cluster" {
		name = owner.Name
	}
	organization, _ := v1alpha1.OrganizationOf(cp.Namespace)
	return organization + "/" + name
}

// issuerFor is the issuer as this one cluster knows it.
func issuerFor(c Config, cp *v1alpha1.ControlPlane) *TokenIssuer {
	if c.Issuer == nil {
		return nil
	}
	issuer := *c.Issuer
	issuer.Audience = Audience(cp)
	issuer.Ended = c.Ended(issuer.Audience)
	return &issuer
}

// Audience is what tokens for a control plane carry: that of the Cluster that it was made for, or of itself.
func Audience(cp *v1alpha1.ControlPlane) string {
	return v1alpha1.TokenAudience(types.UID(clusterOf(cp)))
}

// removeComponents kills at once: what they would still write is deleted next.
func (r *reconciler) removeComponents(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	gone, err := r.Runner.Remove(ctx, string(cp.UID), 0)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonComponentsRemaining, fmt.Errorf("remove components: %w", err))
	}
	if !gone {
		return operator.Wait(v1alpha1.ReasonComponentsRemaining, "components are being stopped", time.Second)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// judge says what the components' states mean. It is pure.
func judge(status health.Status) operator.Outcome {
	if status.Ready() {
		return operator.DoneUntil(v1alpha1.ReasonComponentsServing, "all components answer", componentsCheck)
	}
	failing, waiting := status.Judge(turn)
	if failing != "" {
		return operator.Wait(v1alpha1.ReasonComponentsFailing, failing, componentsCheck)
	}
	return operator.Wait(v1alpha1.ReasonComponentsStarting, "waiting for "+waiting, componentsCheck)
}

// turn says that a component waits for others of other control planes to have started.
func turn(c health.Component) string {
	if c.State == health.Waiting && c.Name == APIServer && c.Message != "" {
		return "(" + c.Message + ")"
	}
	return ""
}

func componentsOf(status health.Status) []v1alpha1.ComponentStatus {
	out := make([]v1alpha1.ComponentStatus, 0, len(status.Components))
	for _, c := range status.Components {
		s := v1alpha1.ComponentStatus{Name: c.Name, State: string(c.State), Restarts: int32(c.Restarts)}
		if c.LastExit != nil {
			s.LastExit = health.Component{LastExit: c.LastExit}.Trouble()
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b v1alpha1.ComponentStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}
