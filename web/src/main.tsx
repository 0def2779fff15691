import {render} from 'preact';
import {App} from './app';
import {startTheme} from './theme';
import './style.css';

startTheme();
render(<App />, document.getElementById('app')!);
