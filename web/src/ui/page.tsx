// Page of text, tables and plots: an analysis, a sweep, a comparison or a what-if.

import type {ComponentChildren} from 'preact';
import {useState} from 'preact/hooks';
import type {Page, Plot, Section} from '../types';
import {DataTable} from './datatable';
import {PlotBody} from './plot';
import './page.css';

export interface Extra {
  key: string;
  title: string;
  body: ComponentChildren;
}

const LONG = 4;  // Minimum number of sections for a table of contents.

function PlotView(props: {plot: Plot}) {
  const {plot} = props;
  return (
    <figure class="plot">
      <figcaption><h3>{plot.title}</h3></figcaption>
      <PlotBody plot={plot} />
      {plot.thinned && <p class="muted plot-thinned" role="note">Thinned: {plot.thinned}</p>}
    </figure>
  );
}

function SectionView(props: {section: Section}) {
  const {section} = props;
  return (
    <section class="card page-section" id={`section-${section.key}`} aria-label={section.title} tabIndex={-1}>
      <h2>{section.title}</h2>
      {section.findings.map(finding => <p class="finding">{finding}</p>)}
      {section.missing && <p class="muted" role="note">Missing in the input: {section.missing}</p>}
      {section.plots.length > 0 && <div class={`plots ${section.plots.length === 1 ? 'alone' : ''}`}>
        {section.plots.map(plot => <PlotView key={plot.key} plot={plot} />)}</div>}
      {section.tables.map(table => <DataTable key={table.key} table={table} />)}
    </section>
  );
}

function Commands(props: {commands: string[]}) {
  const [copied, setCopied] = useState('');
  const text = props.commands.join('\n');
  // Browsers allow access to the clipboard only for localhost and https.
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied('Copied.');
    } catch {
      setCopied('The browser does not allow access to the clipboard; select and copy the text instead.');
    }
  };
  return (
    <section class="card page-section" aria-label="Commands">
      <div class="data-head"><h2>Commands</h2>
        <button type="button" class="button small" onClick={() => void copy()}>Copy</button></div>
      <pre class="commands" tabIndex={0}>{text}</pre>
      <p class="muted" role="status">{copied}</p>
    </section>
  );
}

function goTo(key: string): void {
  const found = document.getElementById(`section-${key}`);
  found?.scrollIntoView({block: 'start'});
  found?.focus({preventScroll: true});
}

function Contents(props: {entries: {key: string; title: string}[]}) {
  return (
    <nav class="contents" aria-label="On this page">
      <details open={matchMedia('(min-width: 1000px)').matches}>
        <summary>On this page</summary>
        <ul>{props.entries.map(entry => (
          <li><button type="button" onClick={() => goTo(entry.key)}>{entry.title}</button></li>))}</ul>
      </details>
    </nav>
  );
}

// `below`: the page is below another heading, so its title is a second-level heading.
export function PageView(props: {page: Page; extra?: Extra[]; below?: boolean}) {
  const {page, extra = []} = props;
  const entries = [...page.sections, ...extra];
  const long = entries.length >= LONG;
  return (
    <div class={long ? 'page page-long' : 'page'}>
      {long && <Contents entries={entries} />}
      <article class="page-body">
        <header class="page-head">
          {props.below ? <h2>{page.title}</h2> : <h1>{page.title}</h1>}
          {page.facts.map(fact => <p class="muted">{fact}</p>)}
        </header>
        {page.sections.map(section => <SectionView key={section.key} section={section} />)}
        {extra.map(one => (
          <section class="card page-section" key={one.key} id={`section-${one.key}`} aria-label={one.title}
            tabIndex={-1}>
            <h2>{one.title}</h2>{one.body}
          </section>))}
        {page.notes.length > 0 && <section class="card page-section" aria-label="Notes">
          <h2>Notes</h2><ul class="notes">{page.notes.map(note => <li>{note}</li>)}</ul></section>}
        {page.commands.length > 0 && <Commands commands={page.commands} />}
      </article>
    </div>
  );
}
