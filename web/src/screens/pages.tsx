// Reports screen: opened sweeps and analyses.

import type {ScreenProps} from '../app';
import {useData} from '../live';
import {href} from '../route';
import type {Opened, Page} from '../types';
import {Empty, Waiting} from '../ui/bits';
import {PageView} from '../ui/page';
import {useOpened} from './opened';
import './pages.css';

const KINDS: Record<Opened['kind'], string> = {run: 'simulated run', sweep: 'sweep', page: 'analysis'};

function One(props: {path: string; several: boolean}) {
  const {data, error} = useData<Page>(props.path, {fresh: true, still: true});
  if (!data) return <Waiting screen="Report" error={error} what="the page" />;
  return (
    <>
      {props.several && <p class="pages-back"><a href={href('pages')}>← All reports</a></p>}
      <PageView page={data} />
    </>
  );
}

function List(props: {pages: Opened[]}) {
  return (
    <>
      <h1>Reports</h1>
      <ul class="pages-list">{props.pages.map(page => (
        <li key={page.key}><a class="card pages-link" href={href('pages', [page.key])}>
          <span class="pages-name">{page.name}</span>
          <span class="badge">{KINDS[page.kind]}</span>
          <span class="muted pages-about">{page.about}</span>
        </a></li>))}</ul>
    </>
  );
}

export function Pages(props: ScreenProps) {
  const {opened, error} = useOpened();
  const [key] = props.route.parts;
  if (!opened) return <Waiting screen="Reports" error={error} what="the reports" />;
  const pages = opened.filter(one => one.kind !== 'run');
  const only = pages.length === 1 ? String(pages[0].key) : undefined;
  if (key === undefined && pages.length === 0) {
    return <Empty screen title="No sweep or analysis is open">
      <p>Create one with <code>muster sweep grid.yaml --out sweep</code> and open it
        with <code>muster view sweep</code>.</p>
    </Empty>;
  }
  const wanted = key ?? only;
  return wanted === undefined ? <List pages={pages} />
    : <One path={`/v1/pages/${encodeURIComponent(wanted)}`} several={pages.length > 1} />;
}
