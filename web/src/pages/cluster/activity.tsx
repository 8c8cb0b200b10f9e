import {
  Alert,
  Button,
  Flex,
  FlexItem,
  Label,
  type LabelProps,
  List,
  ListItem,
  Skeleton,
  Stack,
  Title,
  ToggleGroup,
  ToggleGroupItem,
} from '@patternfly/react-core'
import { useLive } from '../../api/live'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { readable } from '../../logic/foreign'
import { may } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { byDay, type Entry, type EntryKind, entryKinds } from '../../logic/timeline'
import { Age, useNow } from '../../ui/age'
import { Empty } from '../../ui/empty'
import { Foreign } from '../../ui/foreign'
import { FromCli } from '../../ui/fromcli'
import { LiveMark } from '../../ui/livemark'
import { ProblemAlert } from '../../ui/problem'
import { useTimeline } from './history'
import type { TabProps } from './index'

const names: Record<EntryKind, string> = { event: 'Events', operation: 'In progress', audit: 'Audit log' }
const one: Record<EntryKind, string> = { event: 'Event', operation: 'In progress', audit: 'Audit' }
const colors: Record<Entry['look'], LabelProps['status']> = {
  normal: undefined,
  warning: 'warning',
  danger: 'danger',
  working: 'info',
}

/** Activity is what happened to a cluster and goes on, in one timeline. */
export function Activity({ of }: TabProps) {
  const [state, set] = useUrlState()
  const kind = entryKinds.find((k) => k === state.kind)
  const audit = may(useMe(), of.organization, 'operator')
  const live = useLive(`/api/v1/organizations/${encodeURIComponent(of.organization)}/events`, [
    ['events', of.organization],
    ['operations', of.organization],
    ['audit', of.organization],
  ])
  const timeline = useTimeline(of, audit.allowed, kind)
  const days = byDay(timeline.entries, useNow())
  return (
    <Stack hasGutter>
      <Flex>
        <Title headingLevel="h2">
          Activity <LiveMark state={live} />
        </Title>
        <ToggleGroup aria-label="What to show">
          <ToggleGroupItem
            text="All"
            buttonId="kind-all"
            isSelected={!kind}
            onChange={() => set({ kind: undefined })}
          />
          {entryKinds.map((k) => (
            <ToggleGroupItem
              key={k}
              text={names[k]}
              buttonId={`kind-${k}`}
              isSelected={kind === k}
              onChange={() => set({ kind: k })}
            />
          ))}
        </ToggleGroup>
        <FlexItem align={{ default: 'alignRight' }}>
          <Cli organization={of.organization} cluster={of.cluster} />
        </FlexItem>
      </Flex>
      {!audit.allowed && kind !== 'event' && kind !== 'operation' && (
        <Alert component="p" isInline isPlain variant="info" title={`The audit log is not shown. ${audit.why}`} />
      )}
      <ProblemAlert error={timeline.error} again={timeline.again} />
      {timeline.isPending && <Skeleton screenreaderText="Loading what happened" height="10rem" />}
      {!timeline.isPending && !timeline.error && days.length === 0 && (
        <Empty title={kind === 'operation' ? 'Nothing is in progress' : 'Nothing is known of it'} filtered={!!kind}>
          Events are kept for an hour, the audit log for longer.
        </Empty>
      )}
      {days.map((day) => (
        <section key={day.date} aria-labelledby={`day-${day.date}`}>
          <Title headingLevel="h3" size="md" id={`day-${day.date}`}>
            {day.name}
          </Title>
          <List isPlain isBordered>
            {day.entries.map((entry) => (
              <ListItem key={entry.key}>
                <Happened entry={entry} />
              </ListItem>
            ))}
          </List>
        </section>
      ))}
      {timeline.more && (
        <div>
          <Button variant="secondary" isLoading={timeline.isFetching} onClick={timeline.older}>
            Show older
          </Button>
        </div>
      )}
    </Stack>
  )
}

function Happened({ entry }: { entry: Entry }) {
  const at = new Date(entry.at)
  return (
    <div className="kq-wrap">
      <Flex spaceItems={{ default: 'spaceItemsSm' }} alignItems={{ default: 'alignItemsCenter' }}>
        <span className="kq-small">{at.toLocaleTimeString('en-GB')}</span>
        <Label isCompact variant="outline">
          {one[entry.kind]}
        </Label>
        <Label isCompact status={colors[entry.look]}>
          {readable(entry.title)}
        </Label>
        <strong>
          <Foreign text={entry.object} />
        </strong>
        {entry.actor && (
          <span>
            by <Foreign text={entry.actor} />
          </span>
        )}
        <span className="kq-quiet kq-small">
          <Age at={entry.at} />
        </span>
      </Flex>
      {entry.text && (
        <div className="kq-quiet">
          <Foreign text={entry.text} detail />
        </div>
      )}
    </div>
  )
}

function Cli({ organization, cluster }: { organization: string; cluster: string }) {
  const path = `/api/v1/organizations/${organization}`
  const flags = `--org ${shellWord(organization)}`
  return (
    <FromCli
      lines={[
        { about: 'Follow the events', command: `kqueen cluster events ${shellWord(cluster)} ${flags} --watch` },
        { about: 'What is in progress', command: `kqueen operation list --cluster ${shellWord(cluster)} ${flags}` },
        {
          about: 'What was done to it',
          command: `kqueen audit list --kind Cluster --object ${shellWord(cluster)} ${flags}`,
        },
        {
          about: 'What its API server wrote down of its callers',
          command: `kqueen cluster audit ${shellWord(cluster)} ${flags} --since 1h`,
        },
      ]}
      calls={[
        { method: 'GET', path: `${path}/events?name=${cluster}` },
        { method: 'GET', path: `${path}/operations?cluster=${cluster}` },
        { method: 'GET', path: `${path}/audit?kind=Cluster&object=${cluster}` },
      ]}
    />
  )
}
