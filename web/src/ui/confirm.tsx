// "Are you sure?": buttons whose deed needs a second word. What the server answers is shown where it was asked.

import {useEffect, useRef, useState} from 'preact/hooks';
import {UNCERTAIN, troubleOf} from '../api';
import {refreshSoon} from '../live';

interface Deed {
  text: string;             // Of the button: "Cancel".
  question: string;         // "Cancel job 12?"
  detail?: string;          // What that means.
  danger?: boolean;
  act(): Promise<unknown>;
  done?(answer: unknown): void;
}

function DeedButton(props: Deed & {asks(on: boolean): void; acted(): void}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const here = useRef(true);
  useEffect(() => () => {
    here.current = false;
  }, []);
  const act = async () => {
    setBusy(true);
    setError('');
    try {
      const answer = await props.act();
      dialog.current?.close();
      props.acted();
      refreshSoon();
      if (here.current) props.done?.(answer);  // Who has gone on is not called back.
    } catch (problem) {
      setError(troubleOf(problem as Error, UNCERTAIN));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class={`button ${props.danger ? 'danger' : ''}`} onClick={() => {
        setError('');
        props.asks(true);
        dialog.current?.showModal();
      }}>{props.text}</button>
      <dialog ref={dialog} class="dialog" aria-label={props.question} onClose={() => props.asks(false)}
        onCancel={event => busy && event.preventDefault()}>
        <h2>{props.question}</h2>
        {props.detail && <p>{props.detail}</p>}
        {error && <p class="trouble" role="alert">{error}</p>}
        <div class="dialog-buttons">
          <button type="button" class="button" disabled={busy} onClick={() => dialog.current?.close()}>Leave it</button>
          <button type="button" class={`button primary ${props.danger ? 'danger' : ''}`} disabled={busy}
            onClick={() => void act()}>{props.text}</button>
        </div>
      </dialog>
    </>
  );
}

// What may be done now. The one that is being asked about stays until the question is closed, possible or not.
export function Deeds<Key extends string>(props: {class: string; keys: Key[]; deed(key: Key): Deed}) {
  const box = useRef<HTMLDivElement>(null);
  const [asked, setAsked] = useState<Key>();
  const keys = asked === undefined || props.keys.includes(asked) ? props.keys : [...props.keys, asked];
  return (
    <div ref={box} class={props.class} role="group" aria-label="Actions" tabIndex={-1}>
      {keys.map(key => (
        // Once it is done its button goes; whoever pressed it stays near.
        <DeedButton key={key} {...props.deed(key)} asks={on => setAsked(on ? key : undefined)}
          acted={() => box.current?.focus()} />
      ))}
    </div>
  );
}
