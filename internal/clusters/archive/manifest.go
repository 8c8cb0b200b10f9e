package archive

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// About is what a backup is of.
type About struct {
	// Backup is the UID of the backup, Cluster that of the cluster and ControlPlane that of the control plane with the keyspace.
	Backup       string `json:"backup"`
	Cluster      string `json:"cluster"`
	ControlPlane string `json:"controlPlane"`
	// Organization and Name are those of the cluster, for operators who read the file.
	Organization string `json:"organization"`
	Name         string `json:"name"`
	// Version of Kubernetes that wrote it.
	Version string `json:"version"`
	// Trust are fingerprints of the keys without which it cannot be read, such as that by which Secrets are encrypted.
	Trust map[string]string `json:"trust,omitempty"`
	// Sealed is what the store alone opens, and none of its further recipients: [Keys.SealForStore] makes it. Older backups have none.
	Sealed []byte `json:"sealed,omitempty"`
}

// Manifest is what a backup consists of.
type Manifest struct {
	Format int `json:"format"`
	About
	// Revision of the data store that was read, and when its reading ended.
	Revision int64     `json:"revision"`
	TakenAt  time.Time `json:"takenAt"`
	// Keys is how many entries there are, and Bytes how many bytes they have together.
	Keys   int64   `json:"keys"`
	Bytes  int64   `json:"bytes"`
	Chunks []Chunk `json:"chunks"`
}

// Chunk is a file with entries.
type Chunk struct {
	Name string `json:"name"`
	// Size and SHA256 are those of the file.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

const (
	// format is that of manifests and chunks.
	format = 1
	// mostManifest is that of two hundred thousand chunks.
	mostManifest = 64 << 20
	// signed is before what is signed, so that no signature of something else is taken for one of a manifest.
	signed = "kqueen backup\n"
)

const (
	backupsFolder = "backups"
	chunksFolder  = "chunks"
)

func manifestFile(backup string) string { return backupsFolder + "/" + backup }

func chunkFile(name string) string { return chunksFolder + "/" + name[:2] + "/" + name }

// encode returns the file of a manifest, and its digest.
func (k Keys) encode(m Manifest) (file []byte, digest string, err error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, "", fmt.Errorf("encode the manifest: %w", err)
	}
	signature := ed25519.Sign(k.sign, append([]byte(signed), text...))
	file = append(append([]byte(hex.EncodeToString(signature)), '\n'), text...)
	return file, digestOf(file), nil
}

func digestOf(file []byte) string {
	sum := sha256.Sum256(file)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// decode reads the file of a manifest that these keys signed, and no other.
func (k Keys) decode(file []byte) (Manifest, error) {
	head, text, found := bytes.Cut(file, []byte("\n"))
	signature, err := hex.DecodeString(string(head))
	if !found || err != nil || !ed25519.Verify(k.sign.Public().(ed25519.PublicKey), append([]byte(signed), text...), signature) {
		return Manifest{}, damaged("the manifest is not signed with the key of its store: it is changed, cut off or from another store")
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, damaged("the manifest is no JSON")
	}
	if m.Format != format {
		return Manifest{}, fmt.Errorf("the manifest has format %d; this version of KQueen reads %d", m.Format, format)
	}
	for _, c := range m.Chunks {
		if name, err := hex.DecodeString(c.Name); err != nil || len(name) != sha256.Size {
			return Manifest{}, damaged("%.80q is no name of a chunk", c.Name)
		}
	}
	return m, nil
}
