import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Label,
  LabelGroup,
  ToggleGroup,
  ToggleGroupItem,
} from '@patternfly/react-core'
import { Link } from '@tanstack/react-router'
import { useMe } from '../../app/queries'
import { setDark, useDark } from '../../app/theme'
import { roleTexts } from '../../logic/members'
import type { Role } from '../../logic/roles'
import { Age } from '../../ui/age'
import { DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Part } from '../../ui/part'

const kinds: Record<string, string> = {
  user: 'user',
  serviceAccount: 'service account',
  owner: 'owner of the machine of the installation',
}

/** WhoIAm says what the server knows of the user, and what they may. */
export function WhoIAm() {
  const me = useMe()
  const roles = Object.entries(me.roles).sort(([a], [b]) => a.localeCompare(b))
  const terms: [string, React.ReactNode][] = [
    ['Name', me.name],
    ['Display name', me.displayName || '–'],
    ['Email', me.email || '–'],
    ['Kind', kinds[me.kind] ?? me.kind],
    ['Administrator of the installation', me.admin ? 'yes: you may do everything in every organization' : 'no'],
    ['Groups', <Groups key="groups" names={me.groups ?? []} />],
    ['This session ends', <Age key="ends" at={me.credential.expiresAt} />],
  ]
  return (
    <>
      <Part title="Who you are">
        <DescriptionList isCompact isHorizontal>
          {terms.map(([term, value]) => (
            <DescriptionListGroup key={term}>
              <DescriptionListTerm>{term}</DescriptionListTerm>
              <DescriptionListDescription className="kq-wrap">{value}</DescriptionListDescription>
            </DescriptionListGroup>
          ))}
        </DescriptionList>
      </Part>
      <br />
      <Part
        title="Roles"
        about="What you may in each organization, by your name and your groups. Each role includes those below it."
      >
        <DataTable
          label="Your roles"
          rows={roles}
          keyOf={([organization]) => organization}
          columns={[
            {
              name: 'Organization',
              cell: ([organization]) => (
                <Link to="/organizations/$organization" params={{ organization }} search={{}}>
                  {organization}
                </Link>
              ),
            },
            { name: 'Role', cell: ([, role]) => role },
            { name: 'May', cell: ([, role]) => roleTexts[role as Role] ?? '–', width: 60 },
          ]}
          empty={
            <Empty title="You belong to no organization">
              {me.admin
                ? 'As an administrator you reach all of them without a role.'
                : `Ask an owner of an organization to add ${me.name} as a member.`}
            </Empty>
          }
        />
      </Part>
      <br />
      <Theme />
    </>
  )
}

function Groups({ names }: { names: string[] }) {
  if (names.length === 0) return 'none'
  return (
    <LabelGroup aria-label="Groups" numLabels={20}>
      {names.map((name) => (
        <Label key={name} isCompact>
          {name}
        </Label>
      ))}
    </LabelGroup>
  )
}

function Theme() {
  const dark = useDark()
  return (
    <Part title="Theme" about="For this browser. Without a choice the portal follows the system.">
      <ToggleGroup aria-label="Theme">
        <ToggleGroupItem text="Light" buttonId="theme-light" isSelected={!dark} onChange={() => setDark(false)} />
        <ToggleGroupItem text="Dark" buttonId="theme-dark" isSelected={dark} onChange={() => setDark(true)} />
      </ToggleGroup>
    </Part>
  )
}
