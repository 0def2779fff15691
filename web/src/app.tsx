// The frame of the dashboard: navigation, signed-in user and connection state.

import {Component, type ComponentChildren, type ComponentType} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {Refused, get, takeTicketFromAddress, ticket, troubleOf, tryTicket, whenRefused, whenTicketMoves} from './api';
import {setClock} from './clock';
import {follow, pause, unfollow, useLink} from './live';
import {type Route, href, useRoute} from './route';
import {toggleTheme, useTheme} from './theme';
import type {Me} from './types';
import {SignIn} from './signin';
import {Empty} from './ui/bits';
import {TipLayer} from './ui/tip';
import {Fleet} from './screens/fleet';
import {Queue} from './screens/queue';
import {Job} from './screens/job';
import {Tenants} from './screens/tenants';
import {Timeline} from './screens/timeline';
import {Compare} from './screens/compare';
import {Nodes} from './screens/nodes';
import {Pages} from './screens/pages';

export interface ScreenProps {
  me: Me;
  route: Route;
}

// In the order of the navigation bar. A screen without a title has no entry there.
const SCREENS: {key: string; title?: string; show: ComponentType<ScreenProps>}[] = [
  {key: 'fleet', title: 'Fleet', show: Fleet},
  {key: 'queue', title: 'Queue', show: Queue},
  {key: 'job', show: Job},
  {key: 'tenants', title: 'Tenants', show: Tenants},
  {key: 'timeline', title: 'Timeline', show: Timeline},
  {key: 'compare', title: 'Compare', show: Compare},
  {key: 'nodes', title: 'Nodes', show: Nodes},
  {key: 'pages', title: 'Reports', show: Pages},
];

// Screens that only operators may use are not shown to other users.
const offered = (key: string, me: Me): boolean => key !== 'compare' || me.mode === 'view' || me.operator;

const ROLES: Record<NonNullable<Me['role']>, string> = {
  viewer: 'You can look, but not change anything',
  user: 'You can act on your own jobs',
  admin: 'You can act on the jobs of your tenants',
  operator: 'You can act on all jobs and nodes',
};
const MODES: Record<NonNullable<Me['manager_mode']>, string> = {
  'personal': 'All jobs run as the user of the manager, for this user',
  'shared-account': 'All jobs run as the user of the manager, for all users',
  'slurm': 'Slurm runs the jobs',
};

function LinkLight(props: {mode: Me['mode']}) {
  const link = useLink();
  if (props.mode === 'view') return <span class="link" title="Data from files; it does not change">files</span>;
  return link === 'live'
    ? <span class="link live" title="Connected: the data is current">live</span>
    : <span class="link lost" role="status" title="No connection to the manager; reconnecting">reconnecting…</span>;
}

function Bar(props: {me: Me; route: Route; screens: typeof SCREENS; signOut(): void}) {
  const {me, route} = props;
  const theme = useTheme();
  return (
    <header class="bar">
      <a class="brand" href="#/">muster</a>
      <nav aria-label="Screens">
        {props.screens.filter(screen => screen.title && offered(screen.key, me)).map(screen => (
          <a href={href(screen.key)} aria-current={screen.key === route.screen ? 'page' : undefined}>{screen.title}</a>
        ))}
      </nav>
      <span class="bar-words" title={me.scheduler}>{me.cluster}</span>
      <LinkLight mode={me.mode} />
      {me.manager_mode && <span class="bar-mode" title={MODES[me.manager_mode]}>{me.manager_mode}</span>}
      <span class="who" title={ROLES[me.role ?? (me.operator ? 'operator' : 'user')]}>
        {me.user}{me.operator ? ' · operator' : ''}</span>
      <button type="button" class="icon" onClick={toggleTheme}
        aria-label={theme === 'dark' ? 'Light theme' : 'Dark theme'}>{theme === 'dark' ? '☀' : '☾'}</button>
      {me.mode === 'live' &&
        <button type="button" class="icon" onClick={props.signOut} aria-label="Sign out" title="Sign out">⏏</button>}
    </header>
  );
}

// Scrolls to the top when the screen changes, and moves the focus to the content, because the focused element is gone.
// Not for the first screen: there the keyboard starts at the navigation bar.
function useTop(place: string): void {
  const before = useRef(place);
  useLayoutEffect(() => {
    if (before.current === place) return;
    before.current = place;
    window.scrollTo(0, 0);
    if (document.activeElement === document.body) document.getElementById('main')?.focus({preventScroll: true});
  }, [place]);
}

function Frame(props: {me: Me; signOut(): void}) {
  const {me} = props;
  const route = useRoute();
  const screens = SCREENS.filter(screen => me.screens.includes(screen.key));
  const wanted = route.screen === '' ? me.screens[0] : route.screen;  // The server chooses the first screen.
  const screen = screens.find(one => one.key === wanted);
  const here = screen && route.screen === '' ? {...route, screen: screen.key} : route;
  useEffect(() => {
    document.title = screen?.title ? `${screen.title} · muster` : 'muster';
  }, [screen]);
  useTop(here.screen === 'nodes' ? here.screen : `${here.screen}/${here.parts[0] ?? ''}`);  // A node has a side panel.
  return (
    <>
      <a class="skip" href="#main" onClick={event => {
        event.preventDefault();
        document.getElementById('main')?.focus();
      }}>Skip to content</a>
      <Bar me={me} route={here} screens={screens} signOut={props.signOut} />
      {me.notice && <p class="notice" role="note">{me.notice}</p>}
      <main id="main" tabIndex={-1}>
        {screen ? <Guard place={location.hash}><screen.show me={me} route={here} /></Guard>
          : <Empty screen title={`No such screen: ${route.screen}`} />}
      </main>
      <TipLayer />
    </>
  );
}

// Catches render errors of a screen, so that the rest of the page keeps working.
class Guard extends Component<{place: string; children: ComponentChildren}, {error?: Error}> {
  static getDerivedStateFromError(error: Error) {
    return {error};
  }

  componentDidUpdate(before: {place: string}) {
    if (this.state.error && before.place !== this.props.place) this.setState({error: undefined});
  }

  render() {
    const {error} = this.state;
    if (!error) return this.props.children;
    return (
      <div class="trouble" role="alert">
        <h1>This screen cannot be shown</h1>
        <p>{error.message}</p>
        <button type="button" class="button" onClick={() => this.setState({error: undefined})}>Try again</button>
      </div>
    );
  }
}

// The fields that matter for a comparison; the others differ in every answer.
const lasting = ({now: _now, last_event: _last, ...rest}: Me): string => JSON.stringify(rest);

export function App() {
  const [me, setMe] = useState<Me | null>(null);
  const [state, setState] = useState<'asking' | 'in' | 'out'>('asking');
  const [trouble, setTrouble] = useState('');
  const retry = useRef(0);
  const signOut = (words = '') => {
    ticket.drop();
    unfollow();
    setTrouble(words);
    setMe(null);
    setState('out');
  };
  const meet = (found: Me) => {
    if (found.mode === 'live') setClock(found.now);
    setMe(old => old && lasting(old) === lasting(found) ? old : found);
  };
  // After a restart the manager may have another scheduler, other nodes, or another role for this user.
  const look = async () => {
    const used = ticket.get();
    for (let wait = 1000; used === ticket.get(); wait = Math.min(2 * wait, 30_000)) {
      const found = await get<Me>('/v1/me').catch(() => undefined);
      if (found) return used === ticket.get() ? meet(found) : undefined;
      await pause(wait);
    }
  };
  const signIn = async () => {
    window.clearTimeout(retry.current);
    const used = ticket.get();
    if (!used) return signOut();  // All requests need a ticket.
    try {
      const found = await get<Me>('/v1/me');
      if (used !== ticket.get()) return;  // Another tab changed it; whenTicketMoves() handles that.
      meet(found);
      setState('in');
      setTrouble('');
      if (found.mode === 'live') follow(found.last_event, () => void look());
    } catch (error) {
      if (used !== ticket.get()) return;
      if (error instanceof Refused && error.status === 401) return;  // whenRefused() has signed the user out already.
      if (error instanceof Refused && error.status === 403) return signOut(error.message);
      setTrouble(troubleOf(error as Error));
      retry.current = window.setTimeout(() => void signIn(), 1000);
    }
  };
  // Called at the start, and when the user pastes a URL into an open page.
  const enter = async (given: string) => {
    if (given && !await tryTicket(given) && !ticket.get()) {
      return signOut('The ticket in the URL is invalid or expired.');
    }
    await signIn();
  };
  useEffect(() => {
    whenRefused(() => signOut('Your ticket or token is invalid or expired.'));
    void enter(takeTicketFromAddress());
    const pasted = () => {
      const given = takeTicketFromAddress();
      if (given) void enter(given);
    };
    window.addEventListener('hashchange', pasted);
    const leave = whenTicketMoves(() => void signIn());
    return () => {
      window.removeEventListener('hashchange', pasted);
      leave();
    };
  }, []);
  if (state === 'out') {
    return <SignIn trouble={trouble} enter={value => {
      ticket.set(value);
      void signIn();
    }} />;
  }
  if (!me) return <p class="muted loading" role="status">{trouble || 'Connecting…'}</p>;
  // A change of user or role replaces the whole screen.
  return <Frame key={`${me.user} ${me.operator}`} me={me} signOut={() => signOut()} />;
}
