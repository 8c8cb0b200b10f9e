package inventory

import "testing"

func TestParseImage(t *testing.T) {
	const digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for text, want := range map[string]wanted{
		"nginx":                          {"docker.io/library/nginx", "", ""},
		"nginx:1.27":                     {"docker.io/library/nginx", "1.27", ""},
		"grafana/loki:3":                 {"docker.io/grafana/loki", "3", ""},
		"registry.example.com/shop/web":  {"registry.example.com/shop/web", "", ""},
		"registry.example.com:5000/web":  {"registry.example.com:5000/web", "", ""},
		"registry:5000/web:1":            {"registry:5000/web", "1", ""},
		"localhost/web:1":                {"localhost/web", "1", ""},
		"*/log4j*":                       {"*/log4j*", "", ""},
		"quay.io/*:v1":                   {"quay.io/*", "v1", ""},
		digest:                           {"", "", digest},
		"nginx@" + digest:                {"docker.io/library/nginx", "", digest},
		"nginx:1.27@" + digest:           {"docker.io/library/nginx", "1.27", digest},
		"sha256":                         {"docker.io/library/sha256", "", ""},
		"sha256:1.27":                    {"docker.io/library/sha256", "1.27", ""},
		"registry.example.com/a/b/c:v@x": {"registry.example.com/a/b/c", "v", "x"},
	} {
		if got := parseImage(text); got != want {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
	}
}
