// Nodes screen: list of nodes with state, reason and free resources; and a panel for one node.

import {useMemo} from 'preact/hooks';
import type {ScreenProps} from '../app';
import {amount, count, gib, many, number} from '../format';
import {useData} from '../live';
import {go, href, setQuery} from '../route';
import type {Node, Nodes as NodesData} from '../types';
import {Chips, Empty, Meter, StateBadge, Waiting, When, useNow} from '../ui/bits';
import {Stale} from '../ui/stale';
import {type Column, VirtualTable} from '../ui/virtual';
import {chips, found, reason, sorted} from './node_list';
import {NodePanel} from './node_panel';
import './nodes.css';

function State(props: {node: Node; now: number}) {
  const {node, now} = props;
  const why = reason(node);
  if (node.state === 'open') return <StateBadge state="open" />;
  return (
    <span title={why}><StateBadge state={node.state} />{' '}
      {node.since !== undefined && <span class="muted"><When unix={node.since} now={now} relative /></span>}
      {why && ` ${why}`}</span>
  );
}

function used(node: Node) {
  return <><Meter part={node.gpus_used} of={node.gpus} label={`${node.gpus_used} of ${many(node.gpus, 'GPU')} used`} />
    {' '}<span class="figures">{node.gpus_used} of {node.gpus}</span></>;
}

const QUIET = <span class="muted">–</span>;

// While the panel is open, there is space only for the first few columns.
function columnsOf(brief: boolean, chosen: string, query: Record<string, string>, now: number): Column<Node>[] {
  const first: Column<Node>[] = [
    {key: 'name', title: 'Node', width: 'minmax(9rem, 1.2fr)', sort: 'name', cell: node =>
      <a class={node.name === chosen ? 'here' : ''} aria-current={node.name === chosen ? 'true' : undefined}
        href={href('nodes', [node.name], query)} tabIndex={-1} title={node.name}>{node.name}</a>},
    {key: 'state', title: 'State', width: 'minmax(9rem, 1.8fr)', sort: 'state',
      cell: node => <State node={node} now={now} />},
    {key: 'used', title: 'GPUs used', width: '9.5rem', sort: 'used', cell: used},
    {key: 'free', title: 'GPUs free', width: '7.5rem', sort: 'free', right: true, cell: node =>
      <>{node.gpus_reserved > 0 && <span class="muted">{node.gpus_reserved} reserved · </span>}{node.gpus_free}</>},
  ];
  if (brief) return first;
  return [
    first[0],
    {key: 'rack', title: 'Rack', width: 'minmax(4.5rem, .6fr)', sort: 'rack', cell: node => node.rack ?? QUIET},
    {key: 'type', title: 'GPU type', width: 'minmax(7.5rem, .9fr)',
      cell: node => `${node.gpu_type}${node.gpus_virtual ? ' (virtual)' : ''}`},
    ...first.slice(1),
    {key: 'cpus', title: 'CPUs free', width: '7rem', sort: 'cpus', right: true,
      cell: node => `${amount(node.cpus_free)} of ${number(node.cpus)}`},
    {key: 'mem', title: 'Memory free', width: '9.5rem', sort: 'mem', right: true,
      cell: node => `${amount(node.mem_free_gib)} of ${gib(node.mem_gib)}`},
    {key: 'others', title: 'External jobs', width: '8rem', sort: 'others', right: true, cell: node => node.others
      ? <span title={`${number(node.others.cpus)} CPUs and ${gib(node.others.mem_gib)}, too`}>
        {many(node.others.gpus, 'GPU')}</span> : QUIET},
    {key: 'isolation', title: 'Isolation', width: '6rem', cell: node => node.notes?.length
      ? <span class="noted" title={node.notes.join('\n')}>{node.isolation ?? many(node.notes.length, 'note')}</span>
      : node.isolation ?? QUIET},
  ];
}

export function Nodes(props: ScreenProps) {
  const {me, route} = props;
  const {data, error} = useData<NodesData>('/v1/nodes');
  const now = useNow(10_000);
  const [name = ''] = route.parts;
  const {find = '', state = '', sort = 'name', order = 'asc'} = route.query;
  const turn = order === 'desc' ? 'desc' : 'asc';
  const states = state.split(',').filter(Boolean);
  const rows = useMemo(() => sorted(found(data?.nodes ?? [], find, states), sort, turn),
    [data, find, state, sort, turn]);
  const columns = useMemo(() => columnsOf(name !== '', name, route.query, now), [name, route.query, now]);
  if (!data) return <Waiting screen="Nodes" error={error} what="nodes" />;
  if (data.nodes.length === 0) {
    return <Empty screen title="No nodes"><p>Nodes appear here when the manager has found
      them. <code>muster nodes</code> also lists them.</p></Empty>;
  }
  const close = () => go(href('nodes', [], route.query));
  return (
    <div class={`nodes ${name ? 'with-panel' : ''}`} onKeyDown={event => {
      if (event.key === 'Escape' && name && !(event.target as Element).closest('dialog, input')) close();
    }}>
      <h1 class="unseen">Nodes</h1>
      <Stale error={error} />
      <div class="row">
        <Chips label="States" chips={chips(data.nodes, find, states)} on={states}
          choose={on => setQuery(route, {state: on.join(',')})} />
        <input type="search" placeholder="Find nodes" aria-label="Find nodes by name, rack, GPU type or reason"
          value={find} onInput={event => setQuery(route, {find: event.currentTarget.value})} />
        <span class="muted" role="status">{rows.length < data.nodes.length
          ? `${count(rows.length)} of ${many(data.nodes.length, 'node')}` : many(rows.length, 'node')}</span>
      </div>
      <div class="nodes-body">
        {rows.length === 0 ? <Empty title="No nodes match the filter">
          <button type="button" class="button" onClick={() => setQuery(route, {find: '', state: ''})}>Show all</button>
        </Empty> : <VirtualTable label="Nodes" columns={columns} total={rows.length} row={i => rows[i]}
          wanted={() => {}} rowKey={node => node.name} open={node => go(href('nodes', [node.name], route.query))}
          sort={sort} order={turn} sortBy={(by, way) => setQuery(route, {sort: by, order: way})} />}
        {name && <NodePanel name={name} node={data.nodes.find(one => one.name === name)} me={me} now={now}
          close={href('nodes', [], route.query)} />}
      </div>
    </div>
  );
}
