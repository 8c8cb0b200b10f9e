package issuer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Paths of OpenID Connect Discovery 1.0, and of the keys that it points at.
const (
	pathDiscovery = "/.well-known/openid-configuration"
	pathKeys      = "/keys"
)

// discovery is what OpenID Connect Discovery 1.0 asks for; section 3 says which fields must be there. Users do
// not sign in here, so there is no authorization endpoint.
type discovery struct {
	Issuer        string   `json:"issuer"`
	Keys          string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// Handler tells every caller who the issuer is and what its public keys are, at /.well-known/openid-configuration and
// /keys, by GET and HEAD. Answers may be cached for a minute. Serve it under Config.Base, with the path of
// that stripped.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathDiscovery, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "application/json", discovery{
			Issuer: i.url, Keys: i.base + pathKeys,
			ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"}, Algorithms: []string{"ES256"},
		})
	})
	mux.HandleFunc("GET "+pathKeys, func(w http.ResponseWriter, _ *http.Request) {
		keys := i.keys.Load()
		if keys == nil {
			// Who caches "no keys" refuses every token until it asks again.
			http.Error(w, "the keys are not there yet", http.StatusServiceUnavailable)
			return
		}
		answer(w, "application/jwk-set+json", keys.public())
	})
	return mux
}

func answer(w http.ResponseWriter, mediaType string, content any) {
	data, err := json.Marshal(content)
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", keysFresh/time.Second))
	header.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data) // who asked is gone when it cannot be written
}
