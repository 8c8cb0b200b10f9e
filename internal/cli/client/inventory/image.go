package inventory

import "strings"

// wanted is what a user names of an image: "nginx", "nginx:1.27", "registry.example.com/shop/web", "nginx@sha256:…" or "sha256:…".
type wanted struct{ repository, tag, digest string }

// parseImage reads the name of an image as container runtimes do: an image without a registry is one of docker.io. "*" stands for
// any text in a repository, which is then taken as it is. It is pure.
func parseImage(text string) wanted {
	if isDigest(text) {
		return wanted{digest: text}
	}
	var w wanted
	w.repository, w.digest, _ = strings.Cut(text, "@")
	if colon := strings.LastIndexByte(w.repository, ':'); colon > strings.LastIndexByte(w.repository, '/') {
		w.repository, w.tag = w.repository[:colon], w.repository[colon+1:]
	}
	w.repository = inFull(w.repository)
	return w
}

func inFull(repository string) string {
	if repository == "" || strings.Contains(repository, "*") {
		return repository
	}
	first, _, several := strings.Cut(repository, "/")
	switch {
	case !several:
		return "docker.io/library/" + repository
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return repository
	}
	return "docker.io/" + repository
}

// isDigest says whether a text is a digest and no name, as far as the client can tell; the server looks closer.
func isDigest(text string) bool {
	algorithm, value, ok := strings.Cut(text, ":")
	return ok && (algorithm == "sha256" || algorithm == "sha512") && len(value) >= 32 && !strings.ContainsAny(value, "/:@.")
}
