package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
)

// readClusters decodes every cluster of a file, or of standard input when the path is "-".
func (e *env) readClusters(path string) ([]*v1alpha1.Cluster, error) {
	if path == "-" {
		return decodeClusters("standard input", e.stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read clusters: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	return decodeClusters(path, file)
}

// decodeClusters decodes YAML or JSON documents that are each a Cluster, or a List of them as `cluster list
// -o yaml` prints it. It is strict: a field that nobody knows is an error that names the file, the
// document, counted from 1, and the field.
func decodeClusters(name string, from io.Reader) ([]*v1alpha1.Cluster, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(from))
	var clusters []*v1alpha1.Cluster
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		some, err := decodeDocument(document)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", name, number, err)
		}
		clusters = append(clusters, some...)
	}
	if len(clusters) == 0 {
		return nil, fmt.Errorf("%s holds no cluster", name)
	}
	return clusters, nil
}

// listDocument is a List whose items are not decoded yet.
type listDocument struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta        `json:"metadata"`
	Items           []runtime.RawExtension `json:"items"`
}

// decodeDocument decodes one YAML document. One that is empty or only comments holds no cluster.
func decodeDocument(document []byte) ([]*v1alpha1.Cluster, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if string(data) == "null" {
		return nil, nil
	}
	var kind metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &kind); err != nil {
		return nil, typeProblem(err)
	}
	if kind.APIVersion != "v1" || kind.Kind != "List" {
		cluster, err := decodeCluster(data, kind)
		return []*v1alpha1.Cluster{cluster}, err
	}
	var list listDocument
	if err := decodeStrict(data, &list); err != nil {
		return nil, err
	}
	var clusters []*v1alpha1.Cluster
	for i, item := range list.Items {
		var kind metav1.TypeMeta
		if err := kjson.UnmarshalCaseSensitivePreserveInts(item.Raw, &kind); err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, typeProblem(err))
		}
		cluster, err := decodeCluster(item.Raw, kind)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		clusters = append(clusters, cluster)
	}
	return clusters, nil
}

// decodeCluster decodes one cluster and forgets what only the server that it was read from knows.
func decodeCluster(data []byte, kind metav1.TypeMeta) (*v1alpha1.Cluster, error) {
	if want := v1alpha1.GroupVersion.String(); kind.APIVersion != want {
		return nil, fmt.Errorf("apiVersion: is %q and has to be %q", kind.APIVersion, want)
	}
	if kind.Kind != clusterNoun.kind {
		return nil, fmt.Errorf("kind: is %q and has to be %q", kind.Kind, clusterNoun.kind)
	}
	cluster := &v1alpha1.Cluster{}
	if err := decodeStrict(data, cluster); err != nil {
		return nil, err
	}
	cluster.Status = v1alpha1.ClusterStatus{}
	cluster.ResourceVersion, cluster.UID, cluster.Generation = "", "", 0
	cluster.CreationTimestamp, cluster.ManagedFields = metav1.Time{}, nil
	return cluster, nil
}

// decodeStrict decodes JSON; every field has to be known, and has to be there once.
func decodeStrict(data []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return typeProblem(err)
	}
	return errors.Join(strict...)
}

// typeProblem says in the words of YAML what is of the wrong type.
func typeProblem(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s: has to be a %s and is a %s", wrong.Field, wrong.Type.Kind(), wrong.Value)
	}
	return err
}
