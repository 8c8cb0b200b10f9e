package supervise

import (
	"encoding/json"
	"os"
	"path/filepath"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// Subject is what a workload is to users, who do not know its ID. Status says it also after a restart, while no Apply has described the
// workload again.
type Subject struct {
	// Name such as org-default/demo.
	Name string `json:"name"`
	// Cluster is ORGANIZATION/NAME of the cluster that it is of; empty for none. Node says that it is one of its nodes.
	Cluster string `json:"cluster,omitempty"`
	Node    bool   `json:"node,omitempty"`
}

// SubjectOf reads that of the workload whose directory is dir, whether a supervisor runs or not. Where the file is missing or damaged it is
// empty until the next Apply: nothing but what users see depends on it.
func SubjectOf(dir string) Subject {
	var is Subject
	data, err := os.ReadFile(filepath.Join(dir, subjectFile))
	if err != nil || json.Unmarshal(data, &is) != nil {
		return Subject{}
	}
	return is
}

// keepSubject writes it where it is another one.
func keepSubject(dir string, is Subject) error {
	if is == SubjectOf(dir) {
		return nil
	}
	data, err := json.Marshal(is)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, subjectFile), append(data, '\n'), 0o600)
}
