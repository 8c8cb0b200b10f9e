import { shellWord } from '../../logic/shell'
import type { Call, Line } from '../../ui/fromcli'

/** cliOf are the commands and calls that do what a tab of an organization does. It is pure. */
export function cliOf(org: string, tab: string, account?: string): { lines: Line[]; calls: Call[] } {
  const at = `/api/v1/organizations/${encodeURIComponent(org)}`
  switch (tab) {
    case 'quota':
      return {
        lines: [
          { about: 'Show the use and the quota', command: `kqueen quota --org ${shellWord(org)}` },
          {
            about: 'Change limits (administrators)',
            command: `kqueen organization update ${shellWord(org)} --max-clusters 10 --max-nodes none --max-memory 64Gi`,
          },
        ],
        calls: [{ method: 'GET', path: `${at}/quota` }],
      }
    case 'accounts':
      return account ? tokensOf(org, at, account) : accountsOf(org, at)
    case 'settings':
      return {
        lines: [
          { about: 'Show all of it', command: `kqueen organization get ${shellWord(org)} -o yaml` },
          {
            about: 'Check a change without making it',
            command: 'kqueen organization update -f organization.yaml --dry-run=server',
          },
          { about: 'Change it from a file', command: 'kqueen organization update -f organization.yaml' },
        ],
        calls: [{ method: 'GET', path: at }],
      }
    case 'activity':
      return {
        lines: [
          { about: 'What happened in the last hour', command: `kqueen event list --org ${shellWord(org)}` },
          {
            about: 'Follow what goes wrong',
            command: `kqueen event list --org ${shellWord(org)} --type Warning --watch`,
          },
        ],
        calls: [{ method: 'GET', path: `${at}/events?limit=50` }],
      }
  }
  return {
    lines: [
      { about: 'List members', command: `kqueen member list --org ${shellWord(org)}` },
      {
        about: 'Add a user, or give another role',
        command: `kqueen member set user:alice --role operator --org ${shellWord(org)}`,
      },
      {
        about: 'Add a group of an identity provider',
        command: `kqueen member set group:corp:developers --role developer --org ${shellWord(org)}`,
      },
      { about: 'Remove a member', command: `kqueen member remove user:alice --org ${shellWord(org)}` },
    ],
    calls: [
      { method: 'GET', path: `${at}/members` },
      { method: 'PUT', path: `${at}/members/user%3Aalice`, body: { role: 'operator' } },
      { method: 'DELETE', path: `${at}/members/user%3Aalice` },
    ],
  }
}

function accountsOf(org: string, at: string) {
  return {
    lines: [
      { about: 'List service accounts', command: `kqueen serviceaccount list --org ${shellWord(org)}` },
      { about: 'Create one', command: `kqueen serviceaccount create ci --role developer --org ${shellWord(org)}` },
      {
        about: 'Give it another role',
        command: `kqueen serviceaccount update ci --role viewer --org ${shellWord(org)}`,
      },
      { about: 'Keep it out', command: `kqueen serviceaccount update ci --disabled --org ${shellWord(org)}` },
      { about: 'Delete it, with its tokens', command: `kqueen serviceaccount delete ci --org ${shellWord(org)}` },
    ],
    calls: [
      { method: 'GET', path: `${at}/serviceaccounts` },
      { method: 'POST', path: `${at}/serviceaccounts`, body: { name: 'ci', role: 'developer' } },
    ],
  }
}

function tokensOf(org: string, at: string, account: string) {
  const tokens = `${at}/serviceaccounts/${encodeURIComponent(account)}/tokens`
  return {
    lines: [
      {
        about: 'List its tokens',
        command: `kqueen serviceaccount token list ${shellWord(account)} --org ${shellWord(org)}`,
      },
      {
        about: 'Create one, for 30 days',
        command: `kqueen serviceaccount token create ${shellWord(account)} deploy --lifetime 720h --org ${shellWord(org)} >token`,
      },
      {
        about: 'Revoke one, by its ID',
        command: `kqueen serviceaccount token revoke ${shellWord(account)} ID --org ${shellWord(org)}`,
      },
    ],
    calls: [{ method: 'GET', path: tokens }],
  }
}
