// Two repairs of mdBook's own pages for people who use a keyboard or a screen reader.
(() => {
  // The sidebar's toggle is a label that carries a button's attributes without its role.
  document.getElementById('mdbook-sidebar-toggle')?.setAttribute('role', 'button');
  // Code that scrolls sideways can be reached and scrolled without a mouse.
  for (const code of document.querySelectorAll('pre code')) code.tabIndex = 0;
})();

// Native or CAS: the rows of the tables by backend, type and operation. Without this the tables stand whole.
(() => {
  const form = document.querySelector('.cells-filter');
  if (!form) return;
  const rows = [...document.querySelectorAll('.cells tr[data-operation]')];
  const choices = [...form.querySelectorAll('select')];
  const show = () => {
    let shown = 0;
    for (const row of rows) {
      const away = choices.some(({ value, dataset }) =>
        value && row.dataset[dataset.filter] !== value && !(dataset.filter === 'backend' && row.dataset.backend === 'short'));
      row.classList.toggle('chosen-away', away);
      if (!away) shown += 1;
    }
    for (const table of document.querySelectorAll('.cells')) {
      const its = [...table.querySelectorAll('tr[data-operation]')];
      table.classList.toggle('chosen-away', its.length > 0 && its.every((row) => row.classList.contains('chosen-away')));
    }
    form.querySelector('[role=status]').textContent = `${shown} of ${rows.length} rows`;
  };
  form.addEventListener('change', show);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.hidden = false;
})();

// The GPU whose numbers a reader chose stays chosen: from the root's pages the way leads to that edition.
(() => {
  const picker = document.querySelector('.gpu-picker');
  if (!picker) return;
  const key = 'hot-addresses-gpu';
  for (const link of picker.querySelectorAll('a[data-gpu]')) {
    link.addEventListener('click', () => localStorage.setItem(key, link.dataset.gpu));
  }
  const wanted = localStorage.getItem(key);
  const link = wanted && wanted !== picker.dataset.gpu && picker.querySelector(`a[data-gpu="${CSS.escape(wanted)}"]`);
  // Whoever came by a link of another edition meant that one.
  const inside = document.referrer && new URL(document.referrer).origin === location.origin;
  if (link && !inside) location.replace(link.href + location.hash);
})();

// A reader's own points over a chart's curves. The file is read in the browser and goes nowhere.
(() => {
  const MOST_BYTES = 50e6;
  const MOST_POINTS = 2000;
  const SCHEMA = 1;

  const median = (figure) => {
    const numbers = figure.samples.flatMap((line) => String(line).trim().split(/\s+/).map(Number));
    if (!numbers.length || !numbers.every(Number.isFinite)) return NaN;
    numbers.sort((a, b) => a - b);
    const middle = numbers.length >> 1;
    return numbers.length % 2 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
  };

  // The record in the text, or a sentence that says why it is none.
  const recordOf = (text, name) => {
    let record;
    try {
      record = JSON.parse(text);
    } catch (error) {
      throw new Error(`${name} is not JSON (${error.message}). Write it anew with --format json --out ${name}.`);
    }
    const is = (value) => value !== null && typeof value === 'object';
    if (is(record) && record.backend === 'simulator') {
      throw new Error(`${name} comes from the simulator, which gives counts and no times. Run the lab on a GPU, with --backend cuda.`);
    }
    if (!is(record) || typeof record.lab !== 'string' || !Array.isArray(record.figures)) {
      throw new Error(`${name} is no result of labs: it has no lab and figures. cargo labs day26 --format json --out ${name} writes one.`);
    }
    if (record.schema !== SCHEMA) {
      throw new Error(`${name} is of schema ${record.schema}, this page reads ${SCHEMA}: build the book and run the lab from one checkout.`);
    }
    const sound = record.figures.every((figure) => is(figure) && typeof figure.name === 'string' && Array.isArray(figure.samples));
    if (!sound) throw new Error(`${name} has a figure without a name or samples: the file is cut or edited.`);
    return record;
  };

  // The points of a record that belong into a chart.
  const pointsFor = (record, chart) => {
    const { lab, figure, axis } = chart.dataset;
    if (record.lab !== lab) return [];
    const at = Object.entries(JSON.parse(chart.dataset.at));
    const lines = JSON.parse(chart.dataset.lines).map((line) => line.name);
    return record.figures
      .filter((found) => found.name === figure && lines.includes(found.variant))
      .filter((found) => found.at && at.every(([name, place]) => found.at[name] === place))
      .map((found) => ({ line: lines.indexOf(found.variant), name: found.variant, x: Number(found.at[axis]), y: median(found) }))
      .filter(({ x, y }) => x > 0 && y > 0 && Number.isFinite(y));
  };

  const draw = (chart, points) => {
    const svg = chart.querySelector('svg');
    for (const old of svg.querySelectorAll('.own-point')) old.remove();
    const { width, height, left, right, top, bottom, x, y } = JSON.parse(chart.dataset.scale);
    const share = (value, [low, high]) => Math.log(value / low) / Math.log(high / low);
    let outside = 0;
    for (const point of points) {
      const [across, up] = [share(point.x, x), share(point.y, y)];
      if (across < 0 || across > 1 || up < 0 || up > 1) {
        outside += 1;
        continue;
      }
      const ring = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
      ring.setAttribute('class', 'own-point');
      ring.setAttribute('cx', left + across * (width - left - right));
      ring.setAttribute('cy', height - bottom - up * (height - top - bottom));
      ring.setAttribute('r', 8);
      ring.setAttribute('stroke', `var(--series-${(point.line % 8) + 1})`);
      svg.append(ring);
    }
    return outside;
  };

  const factor = (chart, { name, x, y }) => {
    const line = JSON.parse(chart.dataset.lines).find((known) => known.name === name);
    const there = line && line.points.find(([place]) => place === x);
    return there ? y / there[1] : NaN;
  };

  const tell = (chart, record, name, points, outside) => {
    const gpu = record.gpu && typeof record.gpu.name === 'string' ? record.gpu.name : 'an unnamed device';
    if (record.lab !== chart.dataset.lab) {
      throw new Error(`${name} is of ${record.lab}, this chart is of ${chart.dataset.lab}: open it on that lab’s page.`);
    }
    if (!points.length) {
      const places = Object.entries(JSON.parse(chart.dataset.at)).map(([axis, place]) => `${axis}=${place}`).join(', ');
      throw new Error(`${name} holds no ${chart.dataset.figure} of these variants${places ? ` at ${places}` : ''}: the simulator gives none, and a GPU gives them at the places it was asked for.`);
    }
    const factors = points.map((point) => factor(chart, point)).filter(Number.isFinite).sort((a, b) => a - b);
    const digits = (value) => value.toPrecision(3);
    const range = factors.length ? `; ${digits(factors[0])} to ${digits(factors[factors.length - 1])} times the book’s value where both have one` : '';
    return `${points.length} points of ${gpu} as rings, a draft${range}${outside ? `; ${outside} lie outside the chart` : ''}.`;
  };

  const charts = [...document.querySelectorAll('figure.chart[data-lab]')];
  charts.forEach((chart, place) => {
    const box = document.createElement('p');
    box.className = 'own-points';
    const label = document.createElement('label');
    const input = document.createElement('input');
    const status = document.createElement('span');
    label.textContent = 'Your own points, from a file of labs --format json: ';
    Object.assign(input, { type: 'file', accept: '.json,application/json', id: `own-points-${place}` });
    label.htmlFor = input.id;
    status.setAttribute('role', 'status');
    box.append(label, input, status);
    chart.querySelector('figcaption').after(box);
    input.addEventListener('change', async () => {
      const [file] = input.files;
      if (!file) return;
      status.className = '';
      try {
        if (file.size > MOST_BYTES) throw new Error(`${file.name} has ${Math.round(file.size / 1e6)} MB; a result of one lab has a few at most.`);
        const record = recordOf(await file.text(), file.name);
        const points = pointsFor(record, chart).slice(0, MOST_POINTS);
        status.textContent = tell(chart, record, file.name, points, draw(chart, points));
      } catch (error) {
        draw(chart, []);
        status.className = 'refused';
        status.textContent = error.message;
      }
    });
  });
})();
