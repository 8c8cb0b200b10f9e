package collector

import (
	"strings"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// defaultRegistry is where the image of a reference without a registry comes from, as containerd and Docker have it.
const defaultRegistry = "docker.io"

// digestLengths are the hexadecimal digits of the digests that registries know.
var digestLengths = map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}

// image returns what a container runs: reference is as the pod names it, and imageID is from the container's status, "" while no kubelet
// has said.
func image(reference, imageID string) inventory.Image {
	repository, tag, pinned := splitReference(listing.Clean(strings.TrimSpace(reference), maxImage))
	out := inventory.Image{Repository: repository, Tag: tag, Reference: repository, Digest: digestOf(imageID)}
	if tag != "" {
		out.Reference += ":" + tag
	}
	if pinned != "" {
		out.Reference += "@" + pinned
	}
	// A runtime that names the image by its own ID runs what the reference pins all the same.
	if out.Digest == "" && imageID != "" {
		out.Digest = pinned
	}
	return out
}

// splitReference returns the full repository, the tag and the digest of a reference by the rules of containerd: docker.io and library/ are
// added, and the tag is latest where neither tag nor digest is said. A reference that is not valid stays as it is.
func splitReference(reference string) (repository, tag, digest string) {
	if reference == "" {
		return "", "", ""
	}
	repository, digest, pinned := strings.Cut(reference, "@")
	if pinned && !isDigest(digest) {
		digest = ""
	}
	if colon := strings.LastIndexByte(repository, ':'); colon > strings.LastIndexByte(repository, '/') {
		repository, tag = repository[:colon], repository[colon+1:]
	}
	registry, path, found := strings.Cut(repository, "/")
	if !found || !isRegistry(registry) {
		registry, path = defaultRegistry, repository
	}
	if registry == "index."+defaultRegistry {
		registry = defaultRegistry
	}
	if registry == defaultRegistry && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	if tag == "" && digest == "" {
		tag = "latest"
	}
	return registry + "/" + path, tag, digest
}

// isRegistry tells a registry from the first folder of a repository.
func isRegistry(first string) bool {
	return first == "localhost" || strings.ContainsAny(first, ".:") || strings.ToLower(first) != first
}

// digestOf returns the digest in the image ID of a container's status. Runtimes write "docker-pullable://REPOSITORY@DIGEST" or
// "REPOSITORY@DIGEST". A bare "sha256:..." is the ID of the image's configuration, which no registry knows the image by: it is no digest.
func digestOf(imageID string) string {
	_, digest, found := strings.Cut(imageID, "@")
	if !found || !isDigest(digest) {
		return ""
	}
	return digest
}

func isDigest(s string) bool {
	algorithm, digits, _ := strings.Cut(s, ":")
	want, known := digestLengths[algorithm]
	return known && len(digits) == want && strings.Trim(digits, "0123456789abcdef") == ""
}

// versionOf returns the version that a tag names, "v3.5.12-0" for "3.5.12-0"; "" for a tag that is not one, such as latest.
func versionOf(tag string) string {
	number := strings.TrimPrefix(tag, "v")
	if number == "" || number[0] < '0' || number[0] > '9' || !strings.Contains(number, ".") {
		return ""
	}
	return "v" + listing.Clean(number, maxWord)
}
