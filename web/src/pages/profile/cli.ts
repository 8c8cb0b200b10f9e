import type { Call, Line } from '../../ui/fromcli'

/** cliOf are the commands and calls that do what a tab of the profile does. It is pure. */
export function cliOf(tab: string): { lines: Line[]; calls: Call[] } {
  const me = '/api/v1/me'
  switch (tab) {
    case 'tokens':
      return {
        lines: [
          { about: 'List your sessions and tokens', command: 'kqueen token list' },
          { about: 'Create a token for 30 days', command: 'kqueen token create laptop --lifetime 720h >token' },
          {
            about: 'Create one that may do no more than a role in one organization',
            command: 'kqueen token create ci --lifetime 720h --org blue --role developer >token',
          },
          { about: 'Revoke one, by its ID', command: 'kqueen token revoke ID' },
        ],
        calls: [
          { method: 'GET', path: `${me}/credentials` },
          { method: 'DELETE', path: `${me}/credentials/ID` },
        ],
      }
    case 'password':
      return {
        lines: [{ about: 'Change your password', command: 'kqueen password change' }],
        calls: [{ method: 'POST', path: `${me}/password`, body: { old: '…', password: '…' } }],
      }
  }
  return {
    lines: [
      { about: 'Sign in', command: `kqueen login ${location.origin}` },
      { about: 'Who you are', command: 'kqueen whoami' },
      { about: 'Sign out', command: 'kqueen logout' },
    ],
    calls: [{ method: 'GET', path: me }],
  }
}
