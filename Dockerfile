# An image that serves an index. It is not built or tested by this repository's checks.
FROM rust:1-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip python3-venv
RUN python3 -m venv /venv && /venv/bin/pip install 'maturin>=1.16,<2'
COPY . /source
WORKDIR /source
RUN /venv/bin/maturin build --release --locked --out /wheels

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[cli,serve]" && useradd --create-home tamis
USER tamis
EXPOSE 8080
ENTRYPOINT ["tamis"]
CMD ["serve", "/index", "--host", "0.0.0.0"]
