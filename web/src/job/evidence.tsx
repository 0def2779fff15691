// The log line that shows why a lease failed. It opens the output at that line.

import {href, setQuery, useRoute} from '../route';
import type {Lease, WholeJob} from '../types';

export function Evidence(props: {job: WholeJob; lease: Lease}) {
  const {job, lease} = props;
  const route = useRoute();
  if (!lease.evidence) return null;
  const code = <code>{lease.evidence}</code>;
  if (lease.line === undefined) return <p class="evidence">{code}</p>;
  const place = {lease: String(lease.number), line: String(lease.line)};
  // A second click must show the line again. The URL does not change then, but setQuery() reports it anyway.
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    setQuery(route, place);
  };
  return (
    <p class="evidence"><a href={href('job', [job.id], place)} onClick={open}>{code}
      {' '}<span class="evidence-line">line {lease.line} of the output</span></a></p>
  );
}
