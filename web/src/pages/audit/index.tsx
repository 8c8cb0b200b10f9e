import { Alert, Button, Flex, PageSection } from '@patternfly/react-core'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { auditCommand, auditParameters, auditPath, auditQueryOf } from '../../logic/auditquery'
import { may, mayAdminister, organizationsFor } from '../../logic/roles'
import { Empty } from '../../ui/empty'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { PageHead } from '../../ui/page'
import './audit.css'
import { shellWord } from '../../logic/shell'
import { AuditFilters } from './filters'
import { Records } from './records'
import { Verify } from './verify'

/** How many records a page has. */
const limit = 50

export default function Page() {
  const me = useMe()
  const [search] = useUrlState()
  const org = search.org
  const admin = mayAdminister(me)
  const permission = org ? may(me, org, 'operator') : admin
  const query = auditQueryOf(search, limit)
  return (
    <>
      <PageHead
        title="Audit log"
        about={
          org
            ? `Who did what in the organization ${org}, and how it ended, newest first.`
            : 'Who did what, and how it ended, newest first.'
        }
        actions={
          <>
            {admin.allowed && <Verify />}
            <Guarded
              permission={
                admin.allowed ? admin : { allowed: false, why: `An export is handed to others: ${admin.why}` }
              }
              variant="secondary"
              component={admin.allowed ? 'a' : 'button'}
              {...(admin.allowed && {
                href: auditPath(org, '/export'),
                download: `kqueen-audit-${org ?? 'installation'}.jsonl`,
              })}
            >
              Export all
            </Guarded>
            <FromCli
              lines={[
                { about: 'Read the log as it is chosen here.', command: auditCommand(org, query, new Date()) },
                {
                  about: 'Export it, one record in a line (administrators).',
                  command: `kqueen audit export ${org ? `--org ${shellWord(org)}` : '-A'} --file log.jsonl`,
                },
                { about: 'Check that nothing was changed (administrators).', command: 'kqueen audit verify' },
              ]}
              calls={[
                { method: 'GET', path: auditPath(org) + auditParameters({ ...query, cursor: undefined } as never) },
              ]}
            />
          </>
        }
      />
      <PageSection>
        {permission.allowed ? (
          <>
            {!org && (
              <Alert component="p" isInline isPlain variant="info" title="This is the log of the whole installation." />
            )}
            <AuditFilters />
            <Records organization={org} query={query} />
          </>
        ) : org ? (
          <Empty title="This log is not open to you">
            {permission.why} Your own role in each organization is on your profile; an owner can change it.
          </Empty>
        ) : (
          <Choose organizations={organizationsFor(me, 'operator')} />
        )}
      </PageSection>
    </>
  )
}

/** Choose leads a user who may not read all to the logs that they may read. */
function Choose({ organizations }: { organizations: string[] }) {
  const [, set] = useUrlState()
  if (organizations.length === 0) {
    return (
      <Empty title="No audit log is open to you">
        Reading the log of an organization needs the role operator or owner there, and you have neither in any. An owner
        of an organization can give it to you.
      </Empty>
    )
  }
  return (
    <Empty
      title="Choose an organization"
      actions={
        <Flex justifyContent={{ default: 'justifyContentCenter' }}>
          {organizations.map((name) => (
            <Button key={name} variant="secondary" onClick={() => set({ org: name })}>
              {name}
            </Button>
          ))}
        </Flex>
      }
    >
      You may read the logs of the organizations in which you are operator or owner. The log of the whole installation
      is for its administrators.
    </Empty>
  )
}
