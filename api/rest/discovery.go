package rest

// Version is the version of an installation, at /version.
type Version struct {
	// Version of KQueen.
	Version string `json:"version"`
	// API is the version of the REST API.
	API string `json:"api"`
}

// Index leads programs that ask for / on.
type Index struct {
	// OpenAPI is the path of the document of the REST API, Docs that of its reference for readers.
	OpenAPI string `json:"openapi"`
	Docs    string `json:"docs"`
	// SignIn is the page on which users sign in.
	SignIn string `json:"signIn"`
	// OAuth is where OAuth clients find the endpoints.
	OAuth string `json:"oauth"`
}

// AuthorizationServer is the metadata of RFC 8414, as far as the device flow needs it.
type AuthorizationServer struct {
	Issuer                      string   `json:"issuer"`
	DeviceAuthorizationEndpoint string   `json:"device_authorization_endpoint"`
	TokenEndpoint               string   `json:"token_endpoint"`
	GrantTypes                  []string `json:"grant_types_supported"`
	// ResponseTypes are those of an authorization endpoint, of which there is none for programs of others.
	ResponseTypes []string `json:"response_types_supported"`
	// AuthMethods are how clients prove who they are: they need not.
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
}
