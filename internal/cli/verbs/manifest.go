package verbs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// manifest is an object as a file has it. What the file leaves open stays open: no default is filled in.
type manifest struct {
	kind *kinds.Kind
	// file is where it stands.
	file      string
	namespace string
	said      rest.Input
}

// String names it as users do.
func (m manifest) String() string { return m.kind.Singular + " " + m.said.Name }

// readManifests reads files, the files of folders, and standard input, and returns their objects in the order in which
// one may need another: organizations before clusters, and clusters before their nodepools.
func readManifests(e *connection.Env, paths []string, recursive bool) ([]manifest, error) {
	var all []manifest
	for _, path := range paths {
		files, err := filesOf(path, recursive)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			some, err := readManifest(e, file)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	if len(all) == 0 {
		return nil, exit.Fail(exit.Failed, "%s: there is no object in it", strings.Join(paths, ", "))
	}
	seen := map[string]bool{}
	for i := range all {
		m := &all[i]
		placed, err := m.place(e)
		if err != nil {
			return nil, err
		}
		m.namespace = placed
		key := m.kind.Kind + "/" + m.namespace + "/" + m.said.Name
		if seen[key] {
			return nil, fmt.Errorf("%s, %s: metadata.name: there are two of that name", m.file, m)
		}
		seen[key] = true
	}
	order := kinds.All()
	slices.SortStableFunc(all, func(a, b manifest) int {
		return cmp.Compare(slices.Index(order, a.kind), slices.Index(order, b.kind))
	})
	return all, nil
}

// filesOf returns a file itself, and of a folder the files that hold objects by their names.
func filesOf(path string, recursive bool) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && at != path && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(at)):
			files = append(files, at)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	if len(files) == 0 {
		return nil, exit.Fail(exit.Failed, "%s: there is no .yaml, .yml or .json file in it", path)
	}
	return files, nil
}

func readManifest(e *connection.Env, path string) ([]manifest, error) {
	from, name := e.Stdin, "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read objects: %w", err)
		}
		defer func() { _ = file.Close() }() // It was only read.
		from, name = file, path
	}
	var all []manifest
	return all, eachObject(name, from, func(data []byte, kind metav1.TypeMeta) error {
		m, err := decodeManifest(data, kind)
		m.file = name
		all = append(all, m)
		return err
	})
}

// decodeManifest decodes one object. Its fields are checked against its type, and handed on as they are written: what
// only the server says is left out.
func decodeManifest(data []byte, kind metav1.TypeMeta) (manifest, error) {
	if want := v1alpha1.GroupVersion.String(); kind.APIVersion != want {
		return manifest{}, fmt.Errorf("apiVersion: is %q and has to be %q", kind.APIVersion, want)
	}
	n := kinds.Named(kind.Kind)
	if n == nil || !canApply(n) {
		return manifest{}, fmt.Errorf("kind: is %q and has to be one of %s", kind.Kind, strings.Join(applicable(), ", "))
	}
	object := n.Object()
	if err := decodeStrict(data, object); err != nil {
		return manifest{}, err
	}
	var parts struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return manifest{}, err
	}
	said := rest.Input{Name: object.GetName(), Labels: object.GetLabels(), Annotations: object.GetAnnotations(), Spec: parts.Spec}
	return manifest{kind: n, namespace: object.GetNamespace(), said: said}, nil
}

func canApply(n *kinds.Kind) bool {
	served, ok := rest.KindNamed(n.Kind)
	return ok && served.Can(rest.VerbUpdate)
}

// applicable are the kinds of objects that users write.
func applicable() []string {
	var names []string
	for _, n := range kinds.All() {
		if canApply(n) {
			names = append(names, n.Kind)
		}
	}
	return names
}

// place returns the namespace of an object: that of the file, or else the organization's; empty for what has none.
func (m manifest) place(e *connection.Env) (string, error) {
	if m.said.Name == "" {
		return "", fmt.Errorf("%s, %s: metadata.name: is missing", m.file, m.kind.Singular)
	}
	if m.kind.Scope() == rest.ScopeInstallation {
		return "", nil
	}
	namespace := cmp.Or(m.namespace, e.Namespace())
	organization, ok := v1alpha1.OrganizationOf(namespace)
	if !ok || organization == "" {
		return "", fmt.Errorf("%s, %s: metadata.namespace: is %q, which is of no organization; leave it out, or write %sORGANIZATION",
			m.file, m, namespace, v1alpha1.NamespacePrefix)
	}
	if e.Flags.Organization != "" && organization != e.Flags.Organization {
		return "", fmt.Errorf("%s, %s: metadata.namespace: is %q, but --org says %s; leave one of them out", m.file, m, namespace, e.Flags.Organization)
	}
	return namespace, nil
}

// env is that of the organization in which an object is.
func (m manifest) env(e *connection.Env) *connection.Env {
	if organization, ok := v1alpha1.OrganizationOf(m.namespace); ok && organization != e.Organization() {
		in := *e
		in.Flags.Organization = organization
		return &in
	}
	return e
}
