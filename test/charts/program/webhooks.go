package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// completing gives a Site that names no host one of its name.
type completing struct{}

func (completing) Handle(_ context.Context, request admission.Request) admission.Response {
	site := newSite()
	if err := json.Unmarshal(request.Object.Raw, &site.Object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if hostOf(site) != "" {
		return admission.Allowed("")
	}
	if err := unstructured.SetNestedField(site.Object, request.Name+".sites.example", "spec", "host"); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	complete, err := json.Marshal(site.Object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, complete)
}

// checking refuses a Site without text.
type checking struct{}

func (checking) Handle(_ context.Context, request admission.Request) admission.Response {
	site := newSite()
	if err := json.Unmarshal(request.Object.Raw, &site.Object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if strings.TrimSpace(textOf(site)) == "" {
		return admission.Denied("spec.text: is blank, and would be an empty page: write what the site says")
	}
	return admission.Allowed("")
}
