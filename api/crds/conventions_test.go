package crds

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// spelledElsewhere are fields whose values are names that are not ours to choose, and whose they are.
var spelledElsewhere = map[string]string{
	"Cluster.spec.podSecurity":             "a level of the Pod Security Standards",
	"ControlPlane.spec.podSecurity":        "a level of the Pod Security Standards",
	"Organization.spec.podSecurity":        "a level of the Pod Security Standards",
	"ControlPlane.spec.size":               "the name of a size, as clouds have them",
	"Machine.spec.provider":                "the name of a machine provider",
	"NodePool.spec.template.provider":      "the name of a machine provider",
	"Organization.spec.machineProviders[]": "the name of a machine provider",
	"Organization.spec.members[].role":     "the name of a role, as RBAC has them",
}

// counted are the numbers without a unit, and what they count.
var counted = map[string]string{
	"observedGeneration":  "changes of the spec",
	"replicas":            "machines",
	"minReplicas":         "machines",
	"maxReplicas":         "machines",
	"readyReplicas":       "machines",
	"updatedReplicas":     "machines",
	"members":             "members of an etcd",
	"restarts":            "ends of a program",
	"port":                "no count: the number of a port",
	"clusters":            "clusters",
	"nodes":               "nodes",
	"local":               "machines",
	"manual":              "machines",
	"objects":             "objects of a cluster",
	"revision":            "no count: a revision of etcd",
	"maxBackups":          "backups",
	"added":               "objects of a cluster",
	"changed":             "objects of a cluster",
	"removed":             "objects of a cluster",
	"backups":             "backups",
	"keepLast":            "backups",
	"keepDaily":           "days",
	"keepWeekly":          "weeks",
	"keepMonthly":         "months",
	"recoveryWindowHours": "hours: a window of days needs no seconds",
	"omittedFindings":     "findings of an upgrade",
	"blockingFindings":    "findings of a rehearsal",
	"olderPods":           "pods of a cluster",
	"olderBackups":        "backups of a cluster",
	"pendingSecrets":      "Secrets of a cluster",
	"copiedObjects":       "objects of a cluster",
	"kinds":               "kinds of objects of a cluster",
	"written":             "objects of a cluster",
}

// noNames are fields that are called as a kind and do not name one of its objects.
var noNames = map[string]string{
	"Organization.spec.releases": "versions, and minors for all of their patches",
}

// ofKubernetes are fields of types of Kubernetes.
var ofKubernetes = map[string]string{
	"timeAdded": "of a taint",
}

var (
	camelValue = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	camelField = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
	period     = regexp.MustCompile(`(?i:timeout|interval|period|duration|delay|lifetime|grace|ttl)$|^age$|Age$`)
	instant    = regexp.MustCompile(`(At|Began|Since|Until|Expires|Try)$`)
	bytes      = regexp.MustCompile(`(?i)(bytes|[kmg]i?b)$`)
)

// TestConventions: names and values are as the Kubernetes API conventions have them; docs/development/adr/0032 says how.
func TestConventions(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, crd := range all {
		for _, v := range crd.Spec.Versions {
			for _, problem := range check(crd, v, used) {
				t.Error(problem)
			}
		}
	}
	for exception := range merged(spelledElsewhere, noNames, ofKubernetes, counted) {
		if !used[exception] {
			t.Errorf("%s is excepted and need not be", exception)
		}
	}
}

// check returns what is against the conventions, and notes which exceptions it has used.
func check(crd *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion, used map[string]bool) []string {
	kind := crd.Spec.Names.Kind
	var problems []string
	columns := map[string]string{}
	for _, c := range v.AdditionalPrinterColumns {
		columns[c.Name] = c.JSONPath
	}
	if columns["Reason"] != `.status.conditions[?(@.type=="Ready")].reason` {
		problems = append(problems, kind+": no printer column Reason says why it is not ready")
	}
	walk(v.Schema.OpenAPIV3Schema, kind, func(path, name string, s *apiextensionsv1.JSONSchemaProps) {
		for _, problem := range checkField(path, name, s, used) {
			problems = append(problems, path+": "+problem)
		}
	})
	return problems
}

func checkField(path, name string, s *apiextensionsv1.JSONSchemaProps, used map[string]bool) []string {
	var problems []string
	add := func(wrong bool, problem string) {
		if wrong {
			problems = append(problems, problem)
		}
	}
	excepted := func(from map[string]string, key string) bool {
		_, ok := from[key]
		used[key] = used[key] || ok
		return ok
	}
	number := s.Type == "integer" || s.Type == "number"
	add(!camelField.MatchString(name), "the name is not in camelCase")
	add(s.Format == "date-time" && !strings.HasSuffix(name, "Time") && !excepted(ofKubernetes, name), "an instant ends in Time")
	add(s.Format != "date-time" && instant.MatchString(name), "an instant is a date-time whose name ends in Time")
	add(period.MatchString(name) && (number || s.Type == "string"), "a duration is an integer whose name ends in Seconds")
	add(strings.HasSuffix(name, "Seconds") && s.Type != "integer", "seconds are an integer")
	add(bytes.MatchString(name), "bytes are a quantity, and its name does not say their unit")
	add(number && !strings.HasSuffix(name, "Seconds") && !excepted(counted, name), "a number has its unit in its name, or is listed with what it counts")
	add(s.Type == "string" && slices.Contains(kinds(false), name) && !excepted(noNames, path), "a reference by name ends in Name")
	add(s.Type == "array" && slices.Contains(kinds(true), name) && !excepted(noNames, path) && ofTexts(s), "references by name end in Names")
	add(len(s.Enum) > 0 && !camelValues(s) && !excepted(spelledElsewhere, path), "values that we choose are in CamelCase")
	return problems
}

// kinds are the names of kinds as fields would be called.
func kinds(plural bool) []string {
	all := []string{"cluster", "controlPlane", "dataStore", "identityProvider", "machine", "nodePool", "organization", "provisioner", "release", "secret"}
	if plural {
		for i := range all {
			all[i] += "s"
		}
	}
	return all
}

func ofTexts(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.Items != nil && s.Items.Schema != nil && s.Items.Schema.Type == "string"
}

func camelValues(s *apiextensionsv1.JSONSchemaProps) bool {
	return !slices.ContainsFunc(s.Enum, func(raw apiextensionsv1.JSON) bool {
		var value string
		return json.Unmarshal(raw.Raw, &value) != nil || !camelValue.MatchString(value)
	})
}

// walk visits each field, of objects in lists and maps too.
func walk(s *apiextensionsv1.JSONSchemaProps, path string, visit func(path, name string, s *apiextensionsv1.JSONSchemaProps)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		visit(path+"."+name, name, &field)
		walk(&field, path+"."+name, visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		if len(s.Items.Schema.Enum) > 0 {
			visit(path+"[]", "items", s.Items.Schema)
		}
		walk(s.Items.Schema, path+"[]", visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, path+"{}", visit)
	}
}

func merged(all ...map[string]string) map[string]string {
	one := map[string]string{}
	for _, m := range all {
		maps.Copy(one, m)
	}
	return one
}

// TestConventionsAreHeld shows each rule what breaks it, and what does not.
func TestConventionsAreHeld(t *testing.T) {
	tests := map[string]struct {
		field, schema string
		want          string // empty for none
	}{
		"instant":                  {"joinTime", `{"type":"string","format":"date-time"}`, ""},
		"instant, named otherwise": {"joinedAt", `{"type":"string","format":"date-time"}`, "an instant ends in Time"},
		"instant as text":          {"drainBegan", `{"type":"string"}`, "an instant is a date-time"},
		"seconds":                  {"timeoutSeconds", `{"type":"integer"}`, ""},
		"duration as text":         {"unreadyTimeout", `{"type":"string"}`, "a duration is an integer"},
		"duration without unit":    {"interval", `{"type":"integer"}`, "a duration is an integer"},
		"seconds as text":          {"timeoutSeconds", `{"type":"string"}`, "seconds are an integer"},
		"bytes":                    {"storeBytes", `{"type":"integer"}`, "bytes are a quantity"},
		"count":                    {"replicas", `{"type":"integer"}`, ""},
		"number without unit":      {"weight", `{"type":"integer"}`, "a number has its unit in its name"},
		"name":                     {"dataStoreName", `{"type":"string"}`, ""},
		"name, without Name":       {"dataStore", `{"type":"string"}`, "a reference by name ends in Name"},
		"names, without Names":     {"provisioners", `{"type":"array","items":{"type":"string"}}`, "references by name end in Names"},
		"objects":                  {"machines", `{"type":"object"}`, ""},
		"values":                   {"cni", `{"type":"string","enum":["Routes","None"]}`, ""},
		"values in small letters":  {"cni", `{"type":"string","enum":["Routes","none"]}`, "values that we choose are in CamelCase"},
		"values in capitals":       {"cni", `{"type":"string","enum":["no-routes"]}`, "values that we choose are in CamelCase"},
		"field in capitals":        {"CNI", `{"type":"string"}`, "the name is not in camelCase"},
		"field with a line":        {"pod_security", `{"type":"string"}`, "the name is not in camelCase"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &apiextensionsv1.JSONSchemaProps{}
			if err := json.Unmarshal([]byte(tc.schema), s); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(checkField("Thing.spec."+tc.field, tc.field, s, map[string]bool{}))
			if tc.want == "" && got != "[]" || !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %q", got, tc.want)
			}
		})
	}
}
