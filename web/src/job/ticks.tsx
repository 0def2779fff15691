// Ticks with times along the lower edge of an SVG.

import {ticks} from './axis';

export function Ticks(props: {from: number; to: number; y: number; most?: number}) {
  return (
    <>
      {ticks(props.from, props.to, props.most).map(({at, share, text}) => {
        const x = `${share * 100}%`;
        return (
          <g key={at}>
            <line class="axis" x1={x} x2={x} y1={props.y} y2={props.y + 4} />
            <text x={x} y={props.y + 16} text-anchor={share > 0.95 ? 'end' : share < 0.03 ? 'start' : 'middle'}>
              {text}</text>
          </g>
        );
      })}
    </>
  );
}
