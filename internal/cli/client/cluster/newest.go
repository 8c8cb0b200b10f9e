package cluster

import (
	"context"

	"github.com/Masterminds/semver/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// newestRelease returns the newest version of Kubernetes that is ready.
func newestRelease(ctx context.Context, e *connection.Env, c *objects.Client) (string, error) {
	releases, err := kinds.Fetch(ctx, c, kinds.In(e, kinds.Release))
	if err != nil {
		return "", err
	}
	newest := newestReady(releases)
	if newest == "" {
		return "", exit.Fail(exit.Failed, "no release is ready yet; see which there are and what they wait for: %s\nor build one on the server: %s",
			e.Command("release list -o wide"), "kqueen release build VERSION")
	}
	return newest, nil
}

// newestReady returns the name of the newest ready release, or nothing. Versions are compared as versions:
// v1.36.10 is newer than v1.36.9. One that is being deleted does not count.
func newestReady(releases []client.Object) string {
	var newest *semver.Version
	name := ""
	for _, release := range releases {
		version, err := semver.StrictNewVersion(kinds.TrimV(release.GetName()))
		if err != nil || release.GetDeletionTimestamp() != nil || kinds.ReadyStatus(release) != string(metav1.ConditionTrue) {
			continue
		}
		if newest == nil || version.GreaterThan(newest) {
			newest, name = version, release.GetName()
		}
	}
	return name
}
