package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestExamplesAreValid asks a real API server whether it would take every YAML block of the pages.
func TestExamplesAreValid(t *testing.T) {
	c := strictClient(t)
	kinds, err := readKinds(root + "/api/crds")
	if err != nil {
		t.Fatal(err)
	}
	for i := range kinds {
		page := filepath.Join(root, "docs/reference/kinds", kinds[i].page())
		shown := map[string]bool{}
		for n, block := range yamlBlock.FindAllStringSubmatch(read(t, page), -1) {
			for document := range strings.SplitSeq(block[1], "\n---\n") {
				kind, err := tryCreate(t.Context(), c, document)
				if err != nil {
					t.Errorf("%s, block %d: %v", page, n+1, err)
				}
				shown[kind] = true
			}
		}
		if !shown[kinds[i].name()] {
			t.Errorf("%s has no example of %s", page, kinds[i].name())
		}
	}
}

func TestTryCreateRefuses(t *testing.T) {
	c := strictClient(t)
	const release = "apiVersion: kqueen.io/v1alpha1\nkind: Release\n"
	cases := map[string]struct{ document, want string }{
		"NotYAML":      {"\t", "yaml"},
		"UnknownKind":  {"apiVersion: kqueen.io/v1alpha1\nkind: Klaster\nmetadata: {name: a}", "Klaster"},
		"UnknownField": {release + "metadata: {name: v1.2.3}\nspec: {source: {build: {}}, sauce: {}}", "spec.sauce"},
		"MissingField": {release + "metadata: {name: v1.2.3}\nspec: {}", "spec.source"},
		"BrokenRule":   {release + "metadata: {name: newest}\nspec: {source: {build: {}}}", "must be a Kubernetes version"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tryCreate(t.Context(), c, tc.document)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error that says %q", err, tc.want)
			}
		})
	}
}

// strictClient returns a client that refuses unknown fields, of a plane that has the namespaces of the examples.
func strictClient(t *testing.T) client.Client {
	t.Helper()
	c := controlplanetest.Client(t)
	for _, name := range []string{"kqueen-system", "org-default"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

// tryCreate returns the kind of a YAML document and what the API server has against it. It creates nothing.
func tryCreate(ctx context.Context, c client.Client, document string) (string, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
		return "", fmt.Errorf("decode: %w", err)
	}
	return object.GetKind(), c.Create(ctx, object, client.DryRunAll)
}
