// Sign-in form. Accepts a ticket that `muster view` prints, or a token from an operator.

import {useState} from 'preact/hooks';

export function SignIn(props: {trouble: string; enter(ticket: string): void}) {
  const [value, setValue] = useState('');
  return (
    <main class="signin">
      <form class="card" onSubmit={event => {
        event.preventDefault();
        // The complete URL from muster view is accepted, too.
        const given = value.trim().replace(/^.*#ticket=/, '');
        if (given) props.enter(given);
      }}>
        <h1 class="brand">muster</h1>
        <label for="ticket">Ticket or token</label>
        <input id="ticket" type="password" autoComplete="off" spellcheck={false} autofocus value={value}
          onInput={event => setValue(event.currentTarget.value)} />
        {props.trouble && <p class="trouble" role="alert">{props.trouble}</p>}
        <button type="submit" class="button primary">Sign in</button>
        <p class="muted">On the manager's machine, <code>muster view</code> prints a URL that signs you in.
          On other machines, ask an operator for a token: <code>muster token USER</code>.</p>
      </form>
    </main>
  );
}
