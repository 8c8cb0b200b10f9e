package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Check refuses an unknown version, a version whose programs are not there, a step that is not allowed, and for a new
// cluster ranges of addresses that are others' already.
func (d *Driver) Check(ctx context.Context, have *provision.Desired, want provision.Desired) error {
	if have != nil && have.Version == want.Version && have.EmulatedVersion == want.EmulatedVersion {
		return nil
	}
	if have == nil {
		if err := d.checkNetwork(ctx, want); err != nil {
			return err
		}
	}
	if want.Version == "" {
		return d.noVersion(ctx)
	}
	version, err := release.ParseVersion(want.Version)
	if err != nil {
		return invalid.New("spec.version", "%v", err)
	}
	if have != nil {
		if err := checkStep(have.Version, version, have.EmulatedVersion); err != nil {
			return err
		}
	}
	if err := refusal(release.CheckEmulation(version, want.EmulatedVersion)); err != nil {
		return err
	}
	known := &v1alpha1.Release{}
	err = d.Client.Get(ctx, client.ObjectKey{Name: want.Version}, known)
	if apierrors.IsNotFound(err) {
		return d.unknownVersion(ctx, want.Version)
	}
	if err != nil {
		return fmt.Errorf("read release %s: %w", want.Version, err)
	}
	if ready := apimeta.FindStatusCondition(known.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		return &invalid.Error{Field: "spec.version", Problem: fmt.Sprintf("release %s cannot be used yet: %s", want.Version, ready.Message)}
	}
	return nil
}

// checkStep says whether a control plane that runs one version, and emulates a minor or none, may go to another.
func checkStep(from string, to release.Version, emulated string) error {
	version, err := release.ParseVersion(from)
	if err != nil {
		return fmt.Errorf("read the version that runs: %w", err)
	}
	if to.Compare(version) < 0 {
		return refusal(release.CheckRollback(version, to, emulated))
	}
	return refusal(release.CheckUpgrade(version, to))
}

func refusal(err error) error {
	if skew, ok := errors.AsType[*release.SkewError](err); ok {
		return &invalid.Error{Field: "spec." + skew.Field, Problem: skew.Reason + ": " + skew.Fix}
	}
	return err
}

// Versions are the releases whose programs are there and to which a cluster that runs from may go.
func (d *Driver) Versions(ctx context.Context, _ provision.Target, from string) ([]string, error) {
	list := &v1alpha1.ReleaseList{}
	if err := d.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	var before release.Version
	if from != "" {
		var err error
		if before, err = release.ParseVersion(from); err != nil {
			return nil, fmt.Errorf("read the version that runs: %w", err)
		}
	}
	var all []release.Version
	for i := range list.Items {
		r := &list.Items[i]
		version, err := release.ParseVersion(r.Name)
		if err != nil || r.Name == from || apimeta.IsStatusConditionFalse(r.Status.Conditions, v1alpha1.ConditionReady) {
			continue
		}
		if from != "" && release.CheckUpgrade(before, version) != nil {
			continue
		}
		all = append(all, version)
	}
	slices.SortFunc(all, release.Version.Compare)
	names := make([]string, 0, len(all))
	for _, version := range all {
		names = append(names, version.String())
	}
	return names, nil
}

func (d *Driver) noVersion(ctx context.Context) error {
	known, err := d.Versions(ctx, provision.Target{}, "")
	if err != nil {
		return err
	}
	newest := "one of a release; there is none yet"
	if len(known) > 0 {
		newest = strings.Join(known[max(0, len(known)-2):], " or ")
	}
	return invalid.Want("spec.version", "is missing: KQueen creates the cluster", newest)
}

func (d *Driver) unknownVersion(ctx context.Context, version string) error {
	list := &v1alpha1.ReleaseList{}
	if err := d.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list releases: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	// A cache lists in no order, and the message must be the same from try to try.
	slices.Sort(names)
	known := "none"
	if len(names) > 0 {
		known = strings.Join(names, ", ")
	}
	return &invalid.Error{Field: "spec.version", Problem: fmt.Sprintf("%q is not a version that KQueen can run; known: %s", version, known)}
}
