import type { Call, Line } from '../../ui/fromcli'

/** cliOf are the commands and calls that do what a tab of the administration does. It is pure. */
export function cliOf(tab: string): { lines: Line[]; calls: Call[] } {
  switch (tab) {
    case 'providers':
      return {
        lines: [
          { about: 'List identity providers', command: 'kqueen identityprovider list -o wide' },
          {
            about: 'Create one',
            command:
              'kqueen identityprovider create corp --issuer https://login.example.com/realms/corp --client-id kqueen --username-claim email --groups-claim groups',
          },
          { about: "Set the client's secret", command: 'kqueen identityprovider secret corp <client-secret' },
          { about: 'Delete it', command: 'kqueen identityprovider delete corp' },
        ],
        calls: [
          { method: 'GET', path: '/api/v1/identityproviders' },
          { method: 'PUT', path: '/api/v1/identityproviders/corp/secret', body: { secret: '…' } },
        ],
      }
    case 'releases':
      return {
        lines: [
          { about: 'List releases', command: 'kqueen release list -o wide' },
          { about: 'Build one, on the machine of the installation', command: 'kqueen release build v1.36.3' },
          { about: 'Add one that is downloaded', command: 'kubectl apply -f release.yaml' },
        ],
        calls: [{ method: 'GET', path: '/api/v1/releases' }],
      }
    case 'provisioners':
      return {
        lines: [
          { about: 'List provisioners', command: 'kqueen provisioner list' },
          {
            about: 'Create a shared one, on the machine of the installation',
            command: 'kubectl apply --namespace kqueen-system -f provisioner.yaml',
          },
          {
            about: 'Delete a shared one',
            command: 'kubectl delete provisioner --namespace kqueen-system NAME',
          },
        ],
        calls: [{ method: 'GET', path: '/api/v1/provisioners' }],
      }
    case 'stores':
      return {
        lines: [
          { about: 'List backup stores', command: 'kqueen backupstore list' },
          {
            about: 'Create one in a bucket',
            command: 'kqueen backupstore create vault --s3-endpoint https://s3.example.com --s3-bucket backups',
          },
          { about: 'Set its credentials', command: 'kqueen backupstore credentials set vault <credentials.yaml' },
          { about: 'Create one in a folder', command: 'kqueen backupstore create nas --directory /mnt/nas/kqueen' },
          { about: 'Delete it', command: 'kqueen backupstore delete vault' },
        ],
        calls: [
          { method: 'GET', path: '/api/v1/backupstores' },
          {
            method: 'POST',
            path: '/api/v1/backupstores',
            body: { name: 'vault', spec: { s3: { endpoint: 'https://s3.example.com', bucket: 'backups' } } },
          },
          {
            method: 'PUT',
            path: '/api/v1/backupstores/vault/credentials',
            body: { accessKeyID: '…', secretAccessKey: '…' },
          },
        ],
      }
    case 'installation':
      return {
        lines: [
          { about: 'Versions of the client and the server', command: 'kqueen version' },
          { about: 'How the installation is (on its machine)', command: 'kqueen status' },
          { about: 'What it needs, and whether it has it (on its machine)', command: 'kqueen check' },
          {
            about: 'Back up all of it (on its machine)',
            command: 'kqueen installation backup kqueen.backup --passphrase-file passphrase',
          },
          { about: 'Gather what support needs (on its machine)', command: 'kqueen support-bundle' },
        ],
        calls: [{ method: 'GET', path: '/version' }],
      }
  }
  return {
    lines: [
      { about: 'List users', command: 'kqueen user list' },
      {
        about: 'Create one, and a token to choose a password with',
        command: 'kqueen user create alice --email alice@example.com',
      },
      { about: 'Another such token', command: 'kqueen user reset alice' },
      { about: 'Keep a user out', command: 'kqueen user disable alice' },
      { about: 'Make an administrator', command: 'kqueen user update alice --admin' },
      { about: 'End all sessions and tokens', command: 'kqueen user sign-out alice' },
      { about: 'Delete a user', command: 'kqueen user delete alice' },
    ],
    calls: [
      { method: 'GET', path: '/api/v1/users?limit=50' },
      { method: 'POST', path: '/api/v1/users', body: { name: 'alice', email: 'alice@example.com' } },
      { method: 'POST', path: '/api/v1/users/alice/reset' },
    ],
  }
}
