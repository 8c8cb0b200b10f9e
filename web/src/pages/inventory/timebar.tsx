import {
  Button,
  Card,
  CardBody,
  Flex,
  HelperText,
  HelperTextItem,
  PageSection,
  Slider,
  TextInput,
  ToggleGroup,
  ToggleGroupItem,
} from '@patternfly/react-core'
import { useEffect, useState } from 'react'
import { useUrlState } from '../../app/urlstate'
import { momentIn, type View, type ViewName, views } from '../../logic/inventory'
import { count } from '../../logic/quantity'
import { exact } from '../../logic/time'
import {
  daysBack,
  fromLocalInput,
  localInput,
  type Moment,
  momentOf,
  movedTo,
  presets,
  sliderDays,
  timesOf,
  wrongWith,
} from '../../logic/timeslider'
import { useNow } from '../../ui/age'

/** How long a slider has to rest before it asks, in milliseconds. */
const rest = 400

/** TimeBar chooses as of when the page asks. The time is kept in the URL as a time, so that a link shows the same tomorrow. */
export function TimeBar({ view }: { view: ViewName }) {
  const [search, set] = useUrlState()
  const now = useNow()
  const moment = momentOf(search)
  const choose = (next: Moment) => set({ at: undefined, from: undefined, to: undefined, ...timesOf(next) })
  const spec: View = views[view]
  if (spec.timeless) return null
  const wrong = wrongWith(moment, now)
  return (
    <PageSection>
      {' '}
      <Card isCompact>
        <CardBody>
          <div className="kq-timebar-parts">
            <Mode moment={moment} now={now} choose={choose} compares={!!spec.compares} />
            <Back moment={moment} now={now} choose={choose} />
            {moment.kind === 'at' && (
              <When label="Date and time" at={moment.at} set={(at) => at && choose({ kind: 'at', at })} />
            )}
            {moment.kind === 'between' && (
              <>
                <When label="From" at={moment.from} set={(from) => from && choose({ ...moment, from })} />
                <When label="To (empty: now)" at={moment.to} set={(to) => choose({ ...moment, to })} />
              </>
            )}
          </div>
          <Flex spaceItems={{ default: 'spaceItemsXs' }} alignItems={{ default: 'alignItemsCenter' }}>
            {presets(now).map(({ name, at }) => (
              <Button
                key={name}
                size="sm"
                variant="link"
                title={exact(at)}
                onClick={() => choose(moment.kind === 'between' ? { ...moment, from: at } : { kind: 'at', at })}
              >
                {name}
              </Button>
            ))}
            <span className="kq-small kq-quiet">{said(momentIn(view, search))}</span>
          </Flex>
          {wrong && (
            <HelperText>
              <HelperTextItem variant="error">{wrong}</HelperTextItem>
            </HelperText>
          )}
        </CardBody>
      </Card>
    </PageSection>
  )
}

function said(moment: Moment): string {
  if (moment.kind === 'at') return `Shown as of ${exact(moment.at)}.`
  if (moment.kind === 'between')
    return `Shown is what appeared and vanished from ${exact(moment.from)} until ${moment.to ? exact(moment.to) : 'now'}.`
  return 'Shown as of now.'
}

interface Part {
  moment: Moment
  now: Date
  choose: (moment: Moment) => void
}

function Mode({ moment, now, choose, compares }: Part & { compares: boolean }) {
  const back = (days: number) => new Date(now.getTime() - days * 86_400_000)
  const anchor = moment.kind === 'between' ? moment.from : moment.kind === 'at' ? moment.at : undefined
  const modes: [Moment['kind'], string, Moment][] = [
    ['now', 'Now', { kind: 'now' }],
    ['at', 'At a time', { kind: 'at', at: anchor ?? back(1) }],
  ]
  if (compares) modes.push(['between', 'Between two times', { kind: 'between', from: anchor ?? back(7) }])
  const chosen = compares || moment.kind !== 'between' ? moment.kind : moment.to ? 'at' : 'now'
  return (
    <ToggleGroup aria-label="As of when">
      {modes.map(([kind, text, next]) => (
        <ToggleGroupItem
          key={kind}
          buttonId={`when-${kind}`}
          text={text}
          isSelected={chosen === kind}
          onChange={() => choose(next)}
        />
      ))}
    </ToggleGroup>
  )
}

/** Back is the slider. It shows where it is at once, and asks when it rests. */
function Back({ moment, now, choose }: Part) {
  const there = daysBack(moment, now)
  const [days, setDays] = useState<number>()
  useEffect(() => {
    if (days === undefined) return
    const timer = setTimeout(() => {
      setDays(undefined)
      if (days !== there) choose(movedTo(days, moment, now))
    }, rest)
    return () => clearTimeout(timer)
  })
  const shown = days ?? there
  const none = moment.kind === 'now' ? 'now' : 'less than a day ago'
  const text = shown === 0 ? none : `${count(shown, 'day')} ago`
  return (
    <div className="kq-timebar-slider">
      <span className="kq-timebar-label">
        {moment.kind === 'between' ? 'From: ' : ''}
        {text}
      </span>
      <Slider
        value={sliderDays - shown}
        min={0}
        max={sliderDays}
        step={1}
        showBoundaries={false}
        onChange={(_, value) => setDays(sliderDays - Math.round(value))}
        thumbAriaLabel={`As of when, in the last ${sliderDays} days: ${text}`}
      />
    </div>
  )
}

function When({ label, at, set }: { label: string; at?: Date; set: (at: Date | undefined) => void }) {
  const id = `when-${label.split(' ')[0]?.toLowerCase()}`
  const value = at ? localInput(at) : ''
  const [typed, setTyped] = useState<string>()
  const done = () => {
    setTyped(undefined)
    if (typed === undefined || typed === value) return
    const next = fromLocalInput(typed)
    if (next || typed === '') set(next)
  }
  return (
    <div className="kq-timebar-input">
      <label htmlFor={id}>{label}</label>
      <TextInput
        id={id}
        type="datetime-local"
        value={typed ?? value}
        max={localInput(new Date())}
        onChange={(_, text) => setTyped(text)}
        onBlur={done}
        onKeyDown={(event) => event.key === 'Enter' && done()}
      />
    </div>
  )
}
