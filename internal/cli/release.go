package cli

import (
	"context"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newReleaseCommand returns `release` and what is under it.
func newReleaseCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "release",
		Aliases: []string{"releases"},
		Short:   "Versions of Kubernetes that clusters can have",
	}
	asGroup(cmd)
	cmd.AddCommand(newListCommand(e, releaseNoun), newGetCommand(e, releaseNoun))
	return cmd
}

// newestRelease returns the newest version of Kubernetes that is ready.
func (e *env) newestRelease(ctx context.Context, c client.Client) (string, error) {
	releases, err := fetch(ctx, c, source{noun: releaseNoun})
	if err != nil {
		return "", err
	}
	newest := newestReady(releases)
	if newest == "" {
		return "", fail(codeError, "no release is ready yet; see which there are and what they wait for: %s\nor build one on the server: %s",
			e.command("release list -o wide"), "kqueen release build VERSION")
	}
	return newest, nil
}

// newestReady returns the name of the newest ready release, or nothing. Versions are compared as versions:
// v1.36.10 is newer than v1.36.9. One that is being deleted does not count.
func newestReady(releases []client.Object) string {
	var newest *semver.Version
	name := ""
	for _, release := range releases {
		version, err := semver.StrictNewVersion(trimV(release.GetName()))
		if err != nil || release.GetDeletionTimestamp() != nil || readyStatus(release) != string(metav1.ConditionTrue) {
			continue
		}
		if newest == nil || version.GreaterThan(newest) {
			newest, name = version, release.GetName()
		}
	}
	return name
}
