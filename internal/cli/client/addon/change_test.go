package addon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/objects"
)

// busyCluster is a server of one cluster, which another caller changes before it is changed, so many times.
type busyCluster struct {
	revision, times int
	addons          json.RawMessage
	// others are the settings that the other caller leaves; nil changes the status alone.
	others json.RawMessage
}

// ServeHTTP answers getCluster and updateCluster.
func (b *busyCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPatch {
		if b.times--; b.times >= 0 {
			b.revision++
			if b.others != nil {
				b.addons = b.others
			}
		}
		if r.Header.Get("If-Match") != strconv.Quote(strconv.Itoa(b.revision)) {
			clitest.Say(w, http.StatusPreconditionFailed, clitest.Problem, fmt.Sprintf(`{"code":%q}`, rest.CodeChanged))
			return
		}
		var patch struct {
			Spec struct{ Addons json.RawMessage }
		}
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.revision++
		b.addons = patch.Spec.Addons
	}
	clitest.Say(w, http.StatusOK, clitest.JSON, fmt.Sprintf(`{"kind":"Cluster","name":"demo","uid":"u","organization":"blue","revision":"%d","spec":{"addons":%s}}`, b.revision, b.addons))
}

// TestChangeBesideOthers changes a cluster just before an addon of it is switched: nothing that another caller sets is lost.
func TestChangeBesideOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		others   string
		times    int
		want     string
		conflict bool
	}{
		"Nobody":  {"", 0, `[{"name":"a","enabled":false}]`, false},
		"Status":  {"", changeTries - 1, `[{"name":"a","enabled":false}]`, false},
		"Always":  {"", changeTries, `[]`, true},
		"Another": {`[{"name":"b","enabled":true}]`, 1, `[{"name":"b","enabled":true},{"name":"a","enabled":false}]`, false},
		"Same":    {`[{"name":"a","enabled":true,"values":{"x":1}}]`, 1, `[{"name":"a","enabled":false,"values":{"x":1}}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			there := &busyCluster{revision: 1, times: tc.times, addons: json.RawMessage(`[]`), others: json.RawMessage(tc.others)}
			if tc.others == "" {
				there.others = nil
			}
			api, err := client.New(client.Config{Connection: client.Connection{Server: "unix://" + clitest.Serve(t, there) + "/" + rest.LocalSocket}})
			if err != nil {
				t.Fatal(err)
			}
			scheme, err := connection.NewScheme()
			if err != nil {
				t.Fatal(err)
			}
			c := &change{env: connection.New(nil, nil, &bytes.Buffer{}), cluster: "demo", addon: "a", edit: enabled("a", false, nil)}
			_, _, err = c.update(t.Context(), objects.New(api, scheme, "blue"), false)
			if objects.IsConflict(err) != tc.conflict || err != nil != tc.conflict {
				t.Errorf("error %v, want a conflict: %t", err, tc.conflict)
			}
			if diff := cmp.Diff(tc.want, string(there.addons)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
