package server

import (
	"regexp"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// looksSecret matches names of fields that hold secrets everywhere.
var looksSecret = regexp.MustCompile(`(?i)passw|token|secret|kubeconfig|key$|code$|private|^old$|credential`)

// notSecret are fields that only look so.
var notSecret = map[string]string{
	"AuditActor.credential":         "is its id",
	"Me.credential":                 "is its id and when it ends",
	"Problem.code":                  "is a word of the list of problems",
	"User.hasPassword":              "says whether there is one",
	"RotationStatus.pendingSecrets": "counts objects of a kind of Kubernetes",
	"AccessToken.token_type":        "says how the token is sent",

	"DeviceAuthorization.user_code": "is shown to users, and does nothing without a user who is signed in",
	"DeviceAnswer.userCode":         "is what the user was shown",

	"MachineSpec.taints[].key":                 "is a name",
	"MachineApply.spec.taints[].key":           "is a name",
	"NodePoolSpec.template.taints[].key":       "is a name",
	"NodePoolApply.spec.template.taints[].key": "is a name",

	"ProvisionerStatus.driver.credentials":       "says which ones the driver takes, without values",
	"ProvisionerStatus.driver.credentials[].key": "is a name",

	"ProvisionerStatus.driver.clusterCredentials":       "says which ones the driver takes, without values",
	"ProvisionerStatus.driver.clusterCredentials[].key": "is a name",
	"ControlPlaneStatus.rotation.credential":            "which one is replaced",
	"RotationApply.spec.credential":                     "which one is replaced",
	"RotationSpec.credential":                           "which one is replaced",
	"ControlPlaneApply.spec.rotation.credential":        "which one is replaced",
	"ControlPlaneSpec.rotation.credential":              "which one is replaced",
}

// TestSecretFields: every field of the document that holds a secret says so, by format: password. Clients do not show
// such fields, and the test of a whole installation looks for what was in them everywhere.
func TestSecretFields(t *testing.T) {
	h := newFixture(t)
	left := map[string]bool{}
	for name := range notSecret {
		left[name] = true
	}
	found := 0
	var walk func(at string, s *huma.Schema)
	walk = func(at string, s *huma.Schema) {
		if s == nil {
			return
		}
		for name, property := range s.Properties {
			field := at + "." + name
			switch {
			case property.Format == "password":
				found++
			case looksSecret.MatchString(name) && notSecret[field] == "":
				t.Errorf("%s: a secret has format:\"password\", and writeOnly:\"true\" where it is only taken; what is none stands in notSecret", field)
			}
			delete(left, field)
			walk(field, property)
		}
		walk(at+"[]", s.Items)
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
			walk(at+"{}", values)
		}
	}
	for name, s := range h.api.OpenAPI().Components.Schemas.Map() {
		walk(name, s)
	}
	if found < 10 {
		t.Errorf("the document has %d secret fields: the search sees nothing", found)
	}
	for field := range left {
		t.Errorf("%s is in notSecret and not in the document", field)
	}
}
