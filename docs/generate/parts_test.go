package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplice(t *testing.T) {
	cases := map[string]struct {
		page    string
		want    string
		wantErr string
	}{
		"KeepsWhatIsAround": {
			page: "# Above\n\n" + beginMarker + "\nold\n" + endMarker + "\nbelow\n",
			want: "# Above\n\n" + beginMarker + "\n\nnew\n\n" + endMarker + "\nbelow\n",
		},
		"NoMarkers":  {page: "# Above\n", wantErr: "must each be there once"},
		"NoEnd":      {page: beginMarker, wantErr: "must each be there once"},
		"TwoBegins":  {page: beginMarker + beginMarker + endMarker, wantErr: "must each be there once"},
		"WrongOrder": {page: endMarker + beginMarker, wantErr: "before the beginning"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := splice(c.page, "new")
			checkError(t, err, c.wantErr)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadWords(t *testing.T) {
	const constants = `
const (
	// ConditionDone is true when
	// it is done.
	ConditionDone = "Done"
	other = "Other"
)
const (
	// ReasonLate: it took too long.
	ReasonLate = "Late"
)
`
	done := vocabulary{
		Conditions: []word{{Name: "Done", Means: "True when it is done."}},
		Reasons:    []word{{Name: "Late", Means: "It took too long."}},
	}
	cases := map[string]struct {
		files   map[string]string
		want    map[string]vocabulary
		wantErr string
	}{
		"OfTheKindAndCommon": {
			files: map[string]string{
				"pot.go":    "package p\ntype Pot struct{}\ntype PotSpec struct{}\n" + constants,
				"status.go": "package p\nconst (\n\t// ReasonIdle: nothing happens.\n\tReasonIdle = \"Idle\"\n)\n",
			},
			want: map[string]vocabulary{"Pot": done, common: {Reasons: []word{{Name: "Idle", Means: "Nothing happens."}}}},
		},
		"TestsAndGeneratedAreSkipped": {
			files: map[string]string{
				"pot.go": "package p\ntype Pot struct{}\n" + constants, "pot_test.go": "not Go", "zz_generated.go": "not Go",
			},
			want: map[string]vocabulary{"Pot": done},
		},
		"TwoKindsInAFile": {
			files:   map[string]string{"pot.go": "package p\ntype Pot struct{}\ntype Pan struct{}\n" + constants},
			wantErr: "give each its own file",
		},
		"NoCondition": {files: map[string]string{"pot.go": "package p\ntype Pot struct{}\n"}, wantErr: "kind Pot has no condition"},
		"NoComment": {
			files:   map[string]string{"pot.go": "package p\ntype Pot struct{}\nconst ReasonLate = \"Late\"\n"},
			wantErr: "constant ReasonLate: the comment must begin with the name",
		},
		"CommentOfAnother": {
			files:   map[string]string{"pot.go": "package p\nconst (\n\t// ReasonEarly: x.\n\tReasonLate = \"Late\"\n)\n"},
			wantErr: "constant ReasonLate: the comment must begin with the name",
		},
		"NotALiteral": {
			files:   map[string]string{"pot.go": "package p\nconst (\n\t// ReasonLate: x.\n\tReasonLate = other\n)\n"},
			wantErr: "must be a string literal",
		},
		"NotGo": {files: map[string]string{"pot.go": "hello"}, wantErr: "parse Go types"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			kinds := []string{"Pot"}
			if strings.Contains(c.files["pot.go"], "type Pan") {
				kinds = append(kinds, "Pan")
			}
			got, err := readWords(dir, kinds)
			checkError(t, err, c.wantErr)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFieldsOf(t *testing.T) {
	k, err := decodeKind([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pots.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {kind: Pot, plural: pots}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, format: int32, minimum: 1, maximum: 9, default: 3, description: How big.}
              colour: {type: string, enum: [red, blue], minLength: 1, maxLength: 9}
              lids:
                type: array
                minItems: 2
                x-kubernetes-list-type: set
                items: {type: string, pattern: "^a|b$"}
              feet:
                type: array
                items: {type: object, properties: {length: {type: integer}}}
              labels:
                type: object
                maxProperties: 4
                additionalProperties: {type: object, properties: {text: {type: string}}}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true, default: {}}
              since: {type: string, format: date-time}
              lock:
                type: boolean
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: cannot be changed}
                - {rule: self}
`))
	if err != nil {
		t.Fatal(err)
	}
	spec := k.root().Properties["spec"]
	want := []field{
		{Path: "spec.colour", Type: "string", Constraints: []string{"not empty", "at most 9 characters", "one of `\"red\"`, `\"blue\"`"}},
		{Path: "spec.extra", Type: "object of any fields"},
		{Path: "spec.feet", Type: "list of object"},
		{Path: "spec.feet[].length", Type: "integer"},
		{Path: "spec.labels", Type: "map of object", Constraints: []string{"at most 4 entries"}},
		{Path: "spec.labels.*.text", Type: "string"},
		{Path: "spec.lids", Type: "list of string", Constraints: []string{"at least 2 items", "no item twice", "each: pattern `^a|b$`"}},
		{Path: "spec.lock", Type: "boolean", Constraints: []string{"“cannot be changed”", "“`self`”"}},
		{Path: "spec.since", Type: "time"},
		{
			Path: "spec.size", Type: "integer (int32)", Default: "3", Required: true,
			Constraints: []string{"at least 1", "at most 9"}, Description: "How big.",
		},
	}
	if diff := cmp.Diff(want, fieldsOf("spec", &spec)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWriteLeavesNothingHalfDone(t *testing.T) {
	from := sources{crds: root + "/api/crds", types: root + "/api/v1alpha1"}
	checkError(t, write(from, t.TempDir()), "README.md is missing")
	checkError(t, write(sources{crds: t.TempDir(), types: from.types}, t.TempDir()), "holds no definitions")
	checkError(t, write(sources{crds: from.crds, types: t.TempDir()}, t.TempDir()), "has no condition of its own")

	out := t.TempDir()
	parts, err := generate(from)
	if err != nil {
		t.Fatal(err)
	}
	for name := range parts {
		page := "# " + name + "\n\n" + beginMarker + "\n" + endMarker + "\n"
		if err := os.WriteFile(filepath.Join(out, name), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkError(t, write(from, out), "")
	checkError(t, write(from, out), "")
	for name, part := range parts {
		want := "# " + name + "\n\n" + beginMarker + "\n\n" + strings.TrimSpace(part) + "\n\n" + endMarker + "\n"
		if diff := cmp.Diff(want, read(t, filepath.Join(out, name))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != len(parts) {
		t.Errorf("%d files are there, want %d pages and nothing else (%v)", len(entries), len(parts), err)
	}
}

func TestTableEscapes(t *testing.T) {
	var b strings.Builder
	table(&b, [][]string{{"A", "B"}, {code("x|y"), "two\nlines"}})
	want := "| A | B |\n|---|---|\n| `x\\|y` | two lines |\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// checkError fails unless err says want, or is nil when want is empty.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got error %v, want %q", err, want)
	}
}
