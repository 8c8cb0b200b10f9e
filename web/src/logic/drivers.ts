import type { Provisioner } from '../api/objects'
import type { Permission } from './roles'

export interface Driver {
  name: string
  summary: string
  parametersSchema?: Record<string, unknown>
}

/** driversOf are the drivers that provisioners show to be here, in order. An installation may have more: nothing lists them. */
export function driversOf(provisioners: Provisioner[]): Driver[] {
  const found = new Map<string, Driver>()
  for (const p of provisioners) {
    const about = p.status?.driver
    if (!p.spec || !about || found.has(p.spec.driver)) continue
    found.set(p.spec.driver, { name: p.spec.driver, summary: about.summary, parametersSchema: about.parametersSchema })
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

export interface Parameter {
  name: string
  type: string
  about: string
  choices: string
  initial: string
  required: boolean
}

/** parametersOf reads the parameters at the top of a JSON Schema, for a table. What is deeper is shown by the schema itself. */
export function parametersOf(schema: Record<string, unknown> | undefined): Parameter[] {
  const properties = (schema?.properties ?? {}) as Record<string, Record<string, unknown>>
  const required = Array.isArray(schema?.required) ? (schema.required as unknown[]) : []
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: Array.isArray(property.type) ? property.type.join(' or ') : String(property.type ?? 'any'),
    about: String(property.description ?? property.title ?? ''),
    choices: Array.isArray(property.enum) ? property.enum.map(String).join(', ') : '',
    initial: property.default === undefined ? '' : JSON.stringify(property.default).replace(/^"(.*)"$/, '$1'),
    required: required.includes(name),
  }))
}

/** templateOf writes the parameters of a schema with their defaults, as comments: leaving it is the same as saying nothing. */
export function templateOf(schema: Record<string, unknown> | undefined): string {
  const parameters = parametersOf(schema)
  if (parameters.length === 0) return '# This driver takes no parameters.\n{}\n'
  const lines = parameters.map((p) => {
    const about = [p.about, p.choices && `One of: ${p.choices}.`].filter(Boolean).join(' ').replace(/\s+/g, ' ')
    const line = `${p.required ? '' : '# '}${p.name}: ${p.initial}`.trimEnd()
    return about ? `# ${about}\n${line}` : line
  })
  return `${lines.join('\n')}\n`
}

/** ownerOf says in words whose a provisioner is. */
export function ownerOf(p: Pick<Provisioner, 'organization'>): string {
  return p.organization ?? 'shared by the installation'
}

/** mayChange says whether a user who may change the provisioners of its organization may change this one. */
export function mayChange(p: Pick<Provisioner, 'organization'>, owner: Permission): Permission {
  if (p.organization) return owner
  return {
    allowed: false,
    why: 'It is shared by the installation: an administrator changes it with kubectl, on the machine of the installation.',
  }
}
