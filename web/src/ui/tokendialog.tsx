import { type ReactNode, useState } from 'react'
import type { Schemas } from '../api/client'
import { expiresAt, lifetimeName, lifetimes } from '../logic/expiry'
import { shellWord } from '../logic/shell'
import { exact } from '../logic/time'
import { ChoiceField, TextField } from './field'
import { FormDialog } from './formdialog'
import { Copied } from './fromcli'
import { SecretOnce } from './secretonce'

interface TokenDialogProps {
  /** The service account that the token is of; the user where there is none. */
  account?: string
  about: string
  /** What a token is for, as an example. */
  example: string
  /** For how many days it lasts unless another choice is made. */
  days: number
  /** Where it is used: an organization, or all. */
  organization?: string
  /** The command that does the same, as far as the name of the token, and what follows its lifetime. */
  command: [begin: string, end: string]
  /** Further fields. */
  children?: ReactNode
  create: (token: { name: string; expiresAt: string }) => Promise<Schemas['Issued']>
  close: () => void
}

/** TokenDialog asks for what a token needs, has it created, and shows it, once. */
export function TokenDialog(props: TokenDialogProps) {
  const { account, about, example, organization, command, children, create, close } = props
  const [name, setName] = useState('')
  const [days, setDays] = useState(props.days)
  const [issued, setIssued] = useState<Schemas['Issued']>()
  const of = account ? ` of ${account}` : ''
  if (issued) {
    const org = organization ? ` --org ${shellWord(organization)}` : ''
    return (
      <SecretOnce
        title={`Token ${issued.name ?? ''}${of}`}
        close={close}
        shown={[
          { about: 'The token:', text: issued.token },
          {
            about: 'To use it from the command line:',
            text: `KQUEEN_SERVER=${location.origin} KQUEEN_TOKEN=${issued.token} kqueen cluster list${org}`,
          },
        ]}
      />
    )
  }
  const [begin, end] = command
  return (
    <FormDialog
      title={`Create a token${of}`}
      about={about}
      act="Create token"
      isIncomplete={!name.trim()}
      run={async () => setIssued(await create({ name: name.trim(), expiresAt: expiresAt(days, new Date()) }))}
      done={() => {}}
      close={close}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        maxLength={100}
        help={`What it is for, such as ${example}.`}
      />
      <ChoiceField
        label="Expires after"
        value={String(days)}
        onChange={(value) => setDays(Number(value))}
        choices={lifetimes.map((n) => ({ value: String(n), text: lifetimeName(n) }))}
        help={`On ${exact(new Date(Date.now() + days * 24 * 3600 * 1000))}. A short life bounds what a thief gets.`}
        required
      />
      {children}
      <div>
        <p className="kq-small kq-quiet">The same from the command line:</p>
        <div className="kq-scroll">
          <Copied text={`${begin} ${shellWord(name.trim() || 'NAME')} --lifetime ${days * 24}h${end} >token`} />
        </div>
      </div>
    </FormDialog>
  )
}
