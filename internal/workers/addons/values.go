package addons

// Schemas of the values of addons, as OpenAPI v3 has them.
const (
	// noValues is that of an addon without settings.
	noValues = `{"type": "object", "additionalProperties": false}`

	valuesCoreDNS = `{
  "type": "object", "additionalProperties": false,
  "properties": {"replicas": {"type": "integer", "minimum": 1, "maximum": 10, "default": 2, "description": "How many pods answer."}}
}`

	valuesLoadBalancer = `{
  "type": "object", "additionalProperties": false,
  "properties": {"ranges": {
    "type": "array", "maxItems": 16, "default": [],
    "items": {"type": "string", "maxLength": 40, "pattern": "^[0-9.]+([-/][0-9.]+)?$"},
    "description": "IPv4 addresses for Services, such as 192.0.2.10-192.0.2.20 or 192.0.2.0/28, which nothing else in the network of the nodes uses. When it is empty, nodes on KQueen's host have the last addresses of their network for that, and others none."
  }}
}`

	valuesTraefik = `{
  "type": "object", "additionalProperties": false,
  "properties": {
    "replicas": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1, "description": "How many pods serve."},
    "default": {"type": "boolean", "default": true, "description": "Whether Ingresses that name no class get this one."}
  }
}`

	valuesMetricsServer = `{
  "type": "object", "additionalProperties": false,
  "properties": {"resolutionSeconds": {"type": "integer", "minimum": 15, "maximum": 600, "default": 15, "description": "How often each kubelet is asked."}}
}`

	valuesLocalVolumes = `{
  "type": "object", "additionalProperties": false,
  "properties": {"default": {"type": "boolean", "default": true, "description": "Whether claims that name no class get this one."}}
}`
)
