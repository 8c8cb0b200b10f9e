package client

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestProblem(t *testing.T) {
	d := answering(t, Config{}, says(http.StatusUnprocessableEntity, "Content-Type: application/problem+json; charset=utf-8", `{
		"type":"https://kqueen.io/problems/invalid","title":"Invalid","status":200,"detail":"the cluster is not valid","instance":"/api/v1/clusters",
		"errors":[{"pointer":"/spec/version","detail":"there is no v9.9.9"}],"code":"Invalid","requestId":"r-1","retryable":true}`))
	err := d.Call(t.Context(), Request{Method: http.MethodPost, Path: "/"}, nil)
	got, ok := errors.AsType[*Problem](err)
	if !ok {
		t.Fatalf("want a problem, got %v", err)
	}
	want := &Problem{
		Type: "https://kqueen.io/problems/invalid", Title: "Invalid", Status: 422, Detail: "the cluster is not valid", Instance: "/api/v1/clusters",
		Errors: []FieldError{{Pointer: "/spec/version", Detail: "there is no v9.9.9"}}, Code: "Invalid", RequestID: "r-1", Retryable: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProblemInWords(t *testing.T) {
	header := func(media string) http.Header {
		return http.Header{"Content-Type": {media}, "X-Request-Id": {"r-1"}}
	}
	tests := map[string]struct {
		status      int
		media, body string
		want        string
	}{
		"Detail":       {404, mediaProblem, `{"title":"t","detail":"there is no cluster demo"}`, "there is no cluster demo"},
		"Title":        {404, mediaProblem, `{"title":"Not found"}`, "Not found"},
		"Nothing":      {404, mediaProblem, `{}`, "the server answers 404 Not Found"},
		"Fields":       {422, mediaProblem, `{"detail":"d","errors":[{"pointer":"/a","detail":"x"},{"detail":"y"}]}`, "d\n  /a: x\n  y"},
		"OwnFault":     {500, mediaProblem, `{"detail":"d"}`, "d (request r-1)"},
		"NotJSON":      {500, mediaProblem, `{"detail"`, "the server answers 500 Internal Server Error (request r-1)"},
		"OtherForm":    {500, mediaProblem, `{"detail":5}`, "the server answers 500 Internal Server Error (request r-1)"},
		"Text":         {400, "text/plain; charset=utf-8", "Client sent an HTTP request\n", "Client sent an HTTP request"},
		"OAuth":        {400, "application/json", `{"error":"access_denied","error_description":"the user denied it"}`, "the user denied it"},
		"OtherJSON":    {400, "application/json", `[]`, "the server answers 400 Bad Request"},
		"Page":         {502, "text/html", "<html>", "the server answers 502 Bad Gateway (request r-1)"},
		"NoType":       {418, "", "x", "the server answers 418 I'm a teapot"},
		"TerminalCode": {400, mediaProblem, `{"detail":"a\u001b[31mb\nc\u202ed"}`, "a[31mb cd"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := problemOf(tc.status, header(tc.media), []byte(tc.body)).Error(); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// FuzzProblem: whatever a server sends, what is shown is short, readable and has the status that was answered.
func FuzzProblem(f *testing.F) {
	f.Add("application/problem+json", []byte(`{"title":"t","status":1,"errors":[{"pointer":"/a","detail":"b"}]}`))
	f.Add("text/plain", []byte("\x1b[2Jhello\xff"))
	f.Add("a/b; c", []byte(strings.Repeat("x", 5000)))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		p := problemOf(http.StatusBadGateway, http.Header{"Content-Type": {media}, "X-Request-Id": {string(body)}}, body)
		text := p.Error()
		if p.Status != http.StatusBadGateway || text == "" || len([]rune(text)) > (mostErrors+1)*(2*longestText+10) {
			t.Errorf("status %d, %d letters", p.Status, len([]rune(text)))
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("letter %d of %q is not readable", i, text)
		}
	})
}
