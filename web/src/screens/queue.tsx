// Queue screen: all jobs with state, reason for waiting and predicted start. Loads only the visible rows.

import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {ScreenProps} from '../app';
import {count, many} from '../format';
import {NARROW_ROW, columns, usual} from '../queue/columns';
import {type Found, type Question, useRows} from '../queue/rows';
import {type Group, chipsOf, groupOf, pressed} from '../queue/states';
import {type Route, go, href, setQuery} from '../route';
import type {Me} from '../types';
import {Chips, Empty, Toggle, Waiting, useMedia, useNow, useSettled} from '../ui/bits';
import {isBrowsers} from '../ui/keys';
import {Stale} from '../ui/stale';
import {VirtualTable} from '../ui/virtual';
import './queue.css';

const GROUPS: {value: Group; text: string; title: string}[] = [
  {value: 'active', text: 'Active', title: 'Running and waiting jobs'},
  {value: 'ended', text: 'Finished', title: 'Finished jobs, newest first'},
  {value: 'all', text: 'All', title: 'All stored jobs'},
];

// The key "/" moves the focus to the search from anywhere on the page.
function Search(props: {route: Route}) {
  const {route} = props;
  const box = useRef<HTMLInputElement>(null);
  const given = route.query.search ?? '';
  const [text, setText] = useState(given);
  const settled = useSettled(text);
  const told = useRef(given);
  useEffect(() => {
    if (settled !== told.current) setQuery(route, {search: told.current = settled});
  }, [settled]);
  useEffect(() => {  // Changed by a link or "back".
    if (given !== told.current) setText(told.current = given);
  }, [given]);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key !== '/' || isBrowsers(event)) return;
      if ((event.target as HTMLElement).closest?.('input, textarea, select')) return;
      event.preventDefault();
      box.current?.select();
      box.current?.focus();
    };
    document.addEventListener('keydown', key);
    return () => document.removeEventListener('keydown', key);
  }, []);
  return (
    <input ref={box} type="search" class="queue-search" placeholder="Search name, user, tenant, id  ( / )"
      aria-label="Search jobs" aria-keyshortcuts="/" spellcheck={false} maxLength={60} value={text}
      onInput={event => setText(event.currentTarget.value)}
      onKeyDown={event => {
        if (event.key === 'Escape') setText('');
      }} />
  );
}

const WHOSE: {value: 'all' | 'mine'; text: string; title: string}[] = [
  {value: 'all', text: 'All users', title: 'Jobs of all users'},
  {value: 'mine', text: 'Mine', title: 'Only the jobs that you submitted'},
];

function Filters(props: {me: Me; route: Route; counts?: Record<string, number>; total?: number}) {
  const {me, route, counts} = props;
  const {state = '', array = '', user = ''} = route.query;
  const on = pressed(state);
  const group = groupOf(state, route.query.group);
  const word = (value: Group) => value === 'active' ? '' : value;
  return (
    <>
      <div class="queue-filters">
        <h1>Queue {props.total !== undefined && <span class="muted" role="status">{count(props.total)}</span>}</h1>
        <Toggle label="Jobs" value={group} options={GROUPS}
          choose={value => setQuery(route, {state: word(value), group: ''})} />
        {me.operator && <Toggle label="Users" options={WHOSE}
          value={user === '' ? 'all' : user === me.user ? 'mine' : ''}
          choose={value => setQuery(route, {user: value === 'mine' ? me.user : ''})} />}
        {array && <button type="button" class="button" title="Show all jobs"
          onClick={() => setQuery(route, {array: ''})}>array {array} ×</button>}
        <Search route={route} />
      </div>
      {counts && <Chips label="States" chips={chipsOf(counts, on, group)} on={on} choose={chosen => setQuery(route,
        chosen.length === 0 ? {state: word(group), group: ''}
          : {state: chosen.join(','), group: group === 'all' ? 'all' : ''})} />}
    </>
  );
}

function Nothing(props: {me: Me; route: Route; counts?: Record<string, number>}) {
  const {me, route, counts = {}} = props;
  const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const {search = '', state = '', array = '', user = ''} = route.query;
  if (search || array) {
    return (
      <Empty title={search ? `No jobs with “${search}” in name, user, tenant or id` : 'No jobs match the filter'}>
        {all > 0 && <p>{many(all, 'job')} in other states {all === 1 ? 'matches' : 'match'}.</p>}
        <p><button type="button" class="button" onClick={() => setQuery(route, {search: '', array: '', state: 'all'})}>
          Show all jobs</button></p>
      </Empty>
    );
  }
  if (state && state !== 'active') return <Empty title={`No jobs in state ${state.replace(/,/g, ' or ')}`} />;
  // Users do not see the jobs of others, so the cluster may be busy anyway.
  const own = !me.operator || user !== '';
  return (
    <Empty title={!own ? 'No active jobs' : user && user !== me.user
      ? `No active jobs of ${user}` : 'You have no active jobs'}>
      {own && <p>{me.operator ? 'Other users may have some.' : 'You cannot see the jobs of other users.'}
        {' '}<a href={href('fleet')}>The fleet</a> shows which GPUs are in use.</p>}
      <p>To submit a job:</p>
      <p><code>muster submit --gpus 1 -- python3 train.py</code></p>
      <p>To predict its start without submitting it: <code>muster plan --gpus 1 -- python3 train.py</code></p>
      {all > 0 && <p><a href={href('queue', [], {state: 'ended'})}>{many(all, 'finished job')}</a></p>}
    </Empty>
  );
}

function Table(props: {me: Me; route: Route; found: Found; question: Question}) {
  const {route, found, question} = props;
  const now = useNow();
  const phone = useMedia('(max-width: 700px)');
  const sortable = !question.array;
  const group = groupOf(question.state, route.query.group);
  const shown = useMemo(() => columns(now, group, {sortable, phone}), [now, group, sortable, phone]);
  const feeder = found.feeder;
  if (!feeder?.loaded) return <Waiting error={found.error} what="jobs" />;
  const {windows} = feeder;
  if (windows.total === 0 && !found.old) return <Nothing me={props.me} route={route} counts={found.counts} />;
  const sortBy = (sort: string, order: 'asc' | 'desc') => {
    // The third click returns to the server's default order.
    const third = question.sort === sort && question.order === 'desc';
    setQuery(route, {sort: third ? '' : sort, order: third ? '' : order});
  };
  return (
    <VirtualTable label="Jobs" columns={shown} total={windows.total} place={found.key}
      row={i => windows.row(i)} wanted={(first, last) => feeder.see(first, last)} rowKey={job => job.id}
      open={job => go(href('job', [job.id]))} sort={question.sort} order={question.order === 'desc' ? 'desc' : 'asc'}
      sortBy={sortBy} rowHeight={phone ? NARROW_ROW : undefined} usual={sortable ? usual(group) : undefined} />
  );
}

export function Queue(props: ScreenProps) {
  const {me, route} = props;
  const {state = '', user = '', search = '', array = '', sort = '', order = ''} = route.query;
  // Jobs of an array are sorted by index.
  const question = {state: state || 'active', user, search, array, sort: array ? '' : sort, order: array ? '' : order};
  const found = useRows(question);
  const total = found.feeder?.loaded ? found.feeder.windows.total : undefined;
  return (
    <section class={`queue ${found.old && found.feeder ? 'old' : ''}`} aria-label="Queue">
      <Filters me={me} route={route} counts={found.counts} total={total} />
      {found.feeder?.loaded && <Stale error={found.error} />}
      <Table me={me} route={route} found={found} question={question} />
    </section>
  );
}
