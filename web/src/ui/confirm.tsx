// Buttons for actions that need a confirmation. The dialog shows an error of the server.

import {useEffect, useRef, useState} from 'preact/hooks';
import {UNCERTAIN, troubleOf} from '../api';
import {refreshSoon, useDisabled} from '../live';
import {Disabled} from './stale';

interface Deed {
  text: string;             // Text of the button: "Cancel".
  confirm?: string;         // Text of the button in the dialog, if it differs: "Cancel job".
  question: string;         // "Cancel job 12 (train)?"
  detail?: string;          // Consequences of the action.
  danger?: boolean;
  act(): Promise<unknown>;
  done?(answer: unknown): void;
}

// `disabled`: why the action is not possible now, or an empty string.
function DeedButton(props: Deed & {disabled: string; asks(on: boolean): void; acted(): void}) {
  const {disabled} = props;
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
      if (here.current) props.done?.(answer);  // Not if the user has left the page.
    } catch (problem) {
      setError(troubleOf(problem as Error, UNCERTAIN));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class={`button ${props.danger ? 'danger' : ''}`} disabled={disabled !== ''}
        title={disabled || undefined} onClick={() => {
          setError('');
          props.asks(true);
          dialog.current?.showModal();
        }}>{props.text}</button>
      <dialog ref={dialog} class="dialog" aria-label={props.question} onClose={() => props.asks(false)}
        onCancel={event => busy && event.preventDefault()}>
        <h2>{props.question}</h2>
        {props.detail && <p>{props.detail}</p>}
        {error && <p class="trouble" role="alert">{error}</p>}
        <Disabled why={disabled} />
        <div class="dialog-buttons">
          <button type="button" class="button" disabled={busy} onClick={() => dialog.current?.close()}>Keep</button>
          <button type="button" class={`button primary ${props.danger ? 'danger' : ''}`} title={disabled || undefined}
            disabled={busy || disabled !== ''} onClick={() => void act()}>{props.confirm ?? props.text}</button>
        </div>
      </dialog>
    </>
  );
}

// Buttons for the possible actions. While a dialog is open, its button stays, even if the action became impossible.
export function Deeds<Key extends string>(props: {class: string; keys: Key[]; deed(key: Key): Deed}) {
  const box = useRef<HTMLDivElement>(null);
  const [asked, setAsked] = useState<Key>();
  const disabled = useDisabled();
  const keys = asked === undefined || props.keys.includes(asked) ? props.keys : [...props.keys, asked];
  return (
    <div ref={box} class={props.class} role="group" aria-label="Actions" tabIndex={-1}>
      {keys.length > 0 && <Disabled why={disabled} />}
      {keys.map(key => (
        // The button disappears after the action, so the focus moves to the group.
        <DeedButton key={key} {...props.deed(key)} disabled={disabled} asks={on => setAsked(on ? key : undefined)}
          acted={() => box.current?.focus()} />
      ))}
    </div>
  );
}
