import { Label } from '@patternfly/react-core'
import type { Permission } from '../../logic/roles'
import { blocking, type UpgradeFinding } from '../../logic/upgrade'
import { DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { Guarded } from '../../ui/guarded'

interface FindingsProps {
  findings: readonly UpgradeFinding[]
  omitted?: number
  ignored?: readonly string[]
  /** Where findings can be ignored: what a user may do, and what is done. */
  ignore?: { permission: Permission; run: (check: string) => void }
}

/** UpgradeFindings are what stands against an upgrade or is to be known of it, with what to do. */
export function UpgradeFindings({ findings, omitted, ignored = [], ignore }: FindingsProps) {
  if (findings.length === 0) return null
  const blocks = new Set(blocking(findings, ignored))
  const columns = [
    { name: 'Severity', cell: (f: UpgradeFinding) => <Severity of={f} blocks={blocks.has(f)} /> },
    {
      name: 'Finding',
      cell: (f: UpgradeFinding) => (
        <>
          {f.object && (
            <strong>
              <Foreign text={f.object} />{' '}
            </strong>
          )}
          <Foreign text={f.message} />
          {f.fix && (
            <div className="kq-quiet kq-small">
              <Foreign text={f.fix} />
            </div>
          )}
        </>
      ),
      modifier: 'breakWord' as const,
      width: 60 as const,
    },
    { name: 'Check', cell: (f: UpgradeFinding) => f.check },
    ...(ignore
      ? [
          {
            name: 'Actions',
            cell: (f: UpgradeFinding) =>
              blocks.has(f) && (
                <Guarded permission={ignore.permission} variant="link" isInline onClick={() => ignore.run(f.check)}>
                  Ignore {f.check}
                </Guarded>
              ),
          },
        ]
      : []),
  ]
  return (
    <>
      <DataTable
        label="Findings"
        columns={columns}
        rows={[...findings]}
        keyOf={(f) => [f.check, f.severity, f.object, f.message].join('/')}
        empty={null}
      />
      {!!omitted && <p className="kq-quiet">… and {omitted} more.</p>}
    </>
  )
}

function Severity({ of, blocks }: { of: UpgradeFinding; blocks: boolean }) {
  if (blocks)
    return (
      <Label isCompact status="danger">
        Blocks
      </Label>
    )
  return (
    <Label isCompact status={of.severity === 'Blocks' ? 'info' : 'warning'}>
      {of.severity === 'Blocks' ? 'Ignored' : 'Warns'}
    </Label>
  )
}
